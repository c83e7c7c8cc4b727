import { SETTING_LIST } from "../../client/effective-settings.ts";
import { generatorKeys } from "../../client/generator-key.ts";
import type { SettingName } from "../../store/settings-table.ts";

const OTHERS: Readonly<Record<string, string>> = {
  IMGGEN_PROFILE: "default of --profile",
  IMGGEN_HOME: "one folder for settings, ledger and sandbox (default: the platform's own places)",
  PAGER: "shows help topics and --help --all on a terminal (default: less); empty or cat: none",
  NO_COLOR: "no colours, if set",
  FORCE_COLOR: "colours, even where the output is no terminal",
  HTTP_PROXY: "proxy for http: addresses, used with CONNECT only, never for this machine or with a key",
  HTTPS_PROXY: "proxy for https: addresses, used with CONNECT only",
  NO_PROXY: "hosts that no proxy is used for, comma-separated",
  NODE_EXTRA_CA_CERTS: "a file of certificates to trust besides those of Node",
  NODE_COMPILE_CACHE: "another folder for compiled code (default: below the state folder)",
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
    ({ variable, kind, host }) =>
      [variable, `the key of --generator ${kind}, which goes to ${host ?? "it"} alone`] as const,
  );
  return Object.fromEntries(variables);
}

/** The page of the topic `environment`. */
export function environmentPage(): string {
  const variables = environmentTable().map(({ name, description }) => `| ${name} | ${description} |`);
  const settings = SETTING_LIST.map(({ name, help }) => `| ${name} | ${help} |`);
  return `A flag wins over the environment, the environment over the config file. imggen config list shows every value that applies, and where it comes from.

## Variables

| name | meaning |
|---|---|
${variables.join("\n")}

## Settings of imggen config

| name | meaning |
|---|---|
${settings.join("\n")}`;
}
