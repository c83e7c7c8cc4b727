import { SETTING_LIST } from "../../client/effective-settings.ts";
import { type ExitCodeRow as CodeOf, EXIT_CODES, SIGNAL_CODES } from "../../client/exit-codes.ts";
import { generatorKeys } from "../../client/generator-settings.ts";
import type { ErrorType } from "../../lib/error-types.ts";
import type { SettingName } from "../../store/settings-table.ts";

const MEANINGS: Readonly<Record<0 | CodeOf<ErrorType>, string>> = {
  0: "done; every file promised is on disk and checked",
  1: "a bug in imggen",
  2: "the request is invalid; refused by imggen or the service, at no cost. doctor: a problem must be fixed",
  3: "no key, or the service refused it",
  4: "the account cannot pay for this",
  5: "the service refused or failed the task",
  6: "still running when the wait ended; resumable",
  7: "the service could not be reached; nothing was charged",
  8: "the image was charged but could not be downloaded or written, resumable; or the output folder is unusable, found before anything was sent",
  9: "the submit may or may not have been accepted",
  10: "batch, compare, several seeds: some rows did not end in a saved file",
  129: "SIGHUP; the ids of pending tasks were printed",
  130: "SIGINT; the ids of pending tasks were printed",
  143: "SIGTERM; the ids of pending tasks were printed",
};

export interface ExitCode {
  code: number;
  /** Values of `error.type` in JSON output that have this exit code; empty for success. */
  types: readonly string[];
  meaning: string;
}

export function exitCodeTable(): ExitCode[] {
  const signals = Object.values(SIGNAL_CODES).map((code) => ["interrupted", code] as const);
  const allCodes = [...Object.entries(EXIT_CODES), ...signals];
  return Object.entries(MEANINGS).map(([code, meaning]) => ({
    code: Number(code),
    types: allCodes.flatMap(([type, exitCode]) => (exitCode === Number(code) ? [type] : [])),
    meaning,
  }));
}

export function exitCodePage(): string {
  const rows = exitCodeTable().map(({ code, types, meaning }) => {
    const ending = types.length > 0 ? ` (${types.join(", ")})` : "";
    return `| ${code} | ${meaning}${ending} |`;
  });
  return `Every command exits with one of these codes. In parentheses: error.type in --json output.

| code | meaning |
|---|---|
${rows.join("\n")}

With several tasks, status and resume exit with the code of the worst result.`;
}

const OTHER_VARIABLES: Readonly<Record<string, string>> = {
  IMGGEN_PROFILE: "default of --profile",
  IMGGEN_HOME: "one folder for settings, ledger and sandbox",
  PAGER: "program that shows topics and --help --all (default: less)",
  NO_COLOR: "no colours, if set",
  FORCE_COLOR: "colours, even if the output is not a terminal",
  HTTP_PROXY: "proxy for http: addresses (CONNECT); never used for requests with a key",
  HTTPS_PROXY: "proxy for https: addresses (CONNECT)",
  NO_PROXY: "hosts without a proxy, separated by commas",
  NODE_EXTRA_CA_CERTS: "file of additional certificates to trust",
  NODE_COMPILE_CACHE: "folder for the cache of compiled code",
  NODE_DISABLE_COMPILE_CACHE: "1 disables the cache of compiled code",
};

export interface Variable {
  name: string;
  /** The setting that the variable overrides, or null. */
  setting: SettingName | null;
  description: string;
}

export function environmentTable(): Variable[] {
  const settingVariables = SETTING_LIST.flatMap(({ name: setting, variable, help }): Variable[] =>
    variable === undefined ? [] : [{ name: variable, setting, description: help }],
  );
  const otherVariables = Object.entries({ ...keyVariables(), ...OTHER_VARIABLES }).map(
    ([name, description]) => ({
      name,
      setting: null,
      description,
    }),
  );
  return [...settingVariables, ...otherVariables];
}

function keyVariables(): Record<string, string> {
  const variables = generatorKeys().map(
    ({ variable, kind, host }) =>
      [variable, `API key of ${kind}, sent only to ${host ?? "its address"}`] as const,
  );
  return Object.fromEntries(variables);
}

export function environmentPage(): string {
  const variables = environmentTable().map(({ name, description }) => `| ${name} | ${description} |`);
  return `A flag overrides the environment, and the environment overrides the settings. To list all effective values and their sources: imggen config list

| variable | meaning |
|---|---|
${variables.join("\n")}`;
}

export function settingsPage(): string {
  const settings = SETTING_LIST.map(({ name, help }) => `| ${name} | ${help} |`);
  return `Flags and variables override settings, see imggen help environment. To store a setting: imggen config set <name> <value>

| setting | meaning |
|---|---|
${settings.join("\n")}`;
}
