import { VARIABLES } from "../../client/effective-settings.ts";
import { SETTING_NAMES, type SettingName } from "../../store/settings-file.ts";

/** What each setting is for. */
export const SETTINGS: Readonly<Record<SettingName, string>> = {
  apiKey: "the API key, which begins with sk-; imggen login stores it for one base URL",
  baseUrl: "the service's address; plain http: is for this machine only",
  model: "default of --model",
  ratio: "default of --ratio",
  quality: "default of --quality",
  output: "default of --output",
  timeout: "default of --timeout",
  sidecar: "true: write <image>.json beside each image, as --sidecar does (default: false)",
  preview: "true: show images in the terminal, as --preview does (default: false)",
  uploadCommand:
    "command that uploads {file} and prints its URL, for --image <path>, see imggen help uploads",
  confirmAbove: "above so many credits batch and compare ask first (default: 100)",
  dailyCredits: "what a key may spend in a day, in credits, over all commands and processes",
  matrix: "a JSON file that adds or changes models, see imggen help json",
};

const OTHERS: Readonly<Record<string, string>> = {
  IMGGEN_PROFILE: "default of --profile",
  IMGGEN_HOME: "one folder for settings, ledger and sandbox (default: the platform's own places)",
  NO_COLOR: "no colours, if set",
  FORCE_COLOR: "colours, even where the output is no terminal",
  HTTP_PROXY: "proxy for http: addresses, used with CONNECT only",
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
  const ofSettings = SETTING_NAMES.flatMap((setting): Variable[] => {
    const name = VARIABLES[setting];
    return name === undefined ? [] : [{ name, setting, description: SETTINGS[setting] }];
  });
  const others = Object.entries(OTHERS).map(([name, description]) => ({ name, setting: null, description }));
  return [...ofSettings, ...others];
}
