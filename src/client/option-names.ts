import type { OptionNames } from "../lib/wording.ts";

/** How messages name the options of this package's calls. */
export const PACKAGE_NAMES: OptionNames = {
  output: "output",
  name: "name",
  overwrite: "overwrite: true",
  again: "again: true",
  maxCredits: "maxCredits",
  noValidate: "validate: false",
  noWait: "wait: false",
  budget: "maxCredits",
  yes: "yes: true",
  home: "home",
  retryFailed: "retryFailed: true",
  resubmitUnknown: "resubmitUnknown: true",
  sandbox: "sandbox: true",
  trySandbox: "use createClient({ sandbox: true })",
  setApiKey: "Give createClient an apiKey, set IMGGEN_API_KEY, or run imggen login.",
  setBaseUrl: "Give createClient a baseUrl, or run imggen login --base-url <url>.",
  reference: "Nothing was sent. The options are described in the package's types.",
};
