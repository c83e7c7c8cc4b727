import { SETTING_LIST } from "../../client/effective-settings.ts";
import { type ExitCodeRow as CodeOf, EXIT_CODES, SIGNAL_CODES } from "../../client/exit-codes.ts";
import { generatorKeys } from "../../client/generator-settings.ts";
import type { ErrorType } from "../../lib/error-types.ts";
import type { SettingName } from "../../store/settings-table.ts";

/** Meanings of the exit codes, for help, README and scripts. */
const MEANINGS: Readonly<Record<0 | CodeOf<ErrorType>, string>> = {
  0: "done; every file promised is on disk and checked",
  1: "a bug in imggen",
  2: "the request is wrong; refused here, or by the service, at no cost. doctor: something must be fixed",
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
  /** The values of `error.type` in JSON output that end with this code; none for success. */
  types: readonly string[];
  meaning: string;
}

/** Every exit code, in order. */
export function exitCodeTable(): ExitCode[] {
  const signals = Object.values(SIGNAL_CODES).map((code) => ["interrupted", code] as const);
  const all = [...Object.entries(EXIT_CODES), ...signals];
  return Object.entries(MEANINGS).map(([code, meaning]) => ({
    code: Number(code),
    types: all.flatMap(([type, of]) => (of === Number(code) ? [type] : [])),
    meaning,
  }));
}

export function exitCodePage(): string {
  const rows = exitCodeTable().map(({ code, types, meaning }) => {
    const ending = types.length > 0 ? ` (${types.join(", ")})` : "";
    return `| ${code} | ${meaning}${ending} |`;
  });
  return `Every command ends with one of these. In brackets: error.type in --json output.

| code | meaning |
|---|---|
${rows.join("\n")}

With several tasks, status and resume end with the code of the task that went worst.`;
}

const OTHERS: Readonly<Record<string, string>> = {
  IMGGEN_PROFILE: "default of --profile",
  IMGGEN_HOME: "one folder for settings, ledger and sandbox",
  PAGER: "for topics and --help --all (default: less)",
  NO_COLOR: "no colours, if set",
  FORCE_COLOR: "colours, even if the output is no terminal",
  HTTP_PROXY: "proxy for http: addresses (CONNECT), without a key",
  HTTPS_PROXY: "proxy for https: addresses (CONNECT)",
  NO_PROXY: "hosts without a proxy, separated by commas",
  NODE_EXTRA_CA_CERTS: "a file of further certificates to trust",
  NODE_COMPILE_CACHE: "another folder for compiled code",
  NODE_DISABLE_COMPILE_CACHE: "1 keeps no compiled code",
};

export interface Variable {
  name: string;
  /** The setting that it takes the place of; null if there is none. */
  setting: SettingName | null;
  description: string;
}

/** Every environment variable that imggen reads. */
export function environmentTable(): Variable[] {
  const ofSettings = SETTING_LIST.flatMap(({ name: setting, variable, help }): Variable[] =>
    variable === undefined ? [] : [{ name: variable, setting, description: help }],
  );
  const others = Object.entries({ ...keyVariables(), ...OTHERS }).map(([name, description]) => ({
    name,
    setting: null,
    description,
  }));
  return [...ofSettings, ...others];
}

/** The variables that hold the keys of services that make images. */
function keyVariables(): Record<string, string> {
  const variables = generatorKeys().map(
    ({ variable, kind, host }) => [variable, `the key of ${kind}, for ${host ?? "it"} alone`] as const,
  );
  return Object.fromEntries(variables);
}

export function environmentPage(): string {
  const variables = environmentTable().map(({ name, description }) => `| ${name} | ${description} |`);
  return `A flag wins over the environment, the environment over the settings. imggen config list shows every value that applies, and where it comes from.

| variable | meaning |
|---|---|
${variables.join("\n")}`;
}

export function settingsPage(): string {
  const settings = SETTING_LIST.map(({ name, help }) => `| ${name} | ${help} |`);
  return `imggen config set <name> <value> stores one. Flags and variables win over it, see imggen help environment.

| setting | meaning |
|---|---|
${settings.join("\n")}`;
}
