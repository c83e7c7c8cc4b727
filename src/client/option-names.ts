import type { OptionNames } from "../lib/wording.ts";

/** How messages name the options of this package's calls. */
export const OPTION_NAMES: OptionNames = {
  output: "output",
  name: "name",
  overwrite: "overwrite: true",
  maxCredits: "maxCredits",
  noValidate: "validate: false",
  retryFailed: "retryFailed: true",
  resubmitUnknown: "resubmitUnknown: true",
  sandbox: "sandbox: true",
  trySandbox: "createClient({ sandbox: true })",
  setApiKey: "Give createClient an apiKey, store one with imggen login",
  setBaseUrl: "Give createClient a baseUrl, set one with imggen login --base-url <url>",
  reference: "Nothing was sent.",
};
