/** How messages name what their reader has set or can set. */
export interface OptionNames {
  output: string;
  name: string;
  overwrite: string;
  again: string;
  maxCredits: string;
  noValidate: string;
  noWait: string;
  /** The cap of a batch, with its value. */
  budget: string;
  yes: string;
  /** The folder of settings and ledger. */
  home: string;
  retryFailed: string;
  resubmitUnknown: string;
  sandbox: string;
  /** How to use the sandbox in place of an account, as the end of a sentence. */
  trySandbox: string;
  /** How to set an API key, and the base URL. */
  setApiKey: string;
  setBaseUrl: string;
  /** Where all options are described, as a sentence. */
  reference: string;
}

/** Names on the command line. */
export const FLAG_NAMES: OptionNames = {
  output: "--output",
  name: "--name",
  overwrite: "--overwrite",
  again: "--again",
  maxCredits: "--max-credits",
  noValidate: "--no-validate",
  noWait: "--no-wait",
  budget: "--max-credits <n>",
  yes: "--yes",
  home: "IMGGEN_HOME",
  retryFailed: "--retry-failed",
  resubmitUnknown: "--resubmit-unknown",
  sandbox: "--sandbox",
  trySandbox: "add --sandbox",
  setApiKey: "To store one (or set IMGGEN_API_KEY): imggen login",
  setBaseUrl:
    "To set it: imggen login --base-url <url>\nTo find servers and keys on this machine: imggen setup",
  reference: "See imggen --help.",
};

/** A text, or one that names options; the names are given where it is shown. */
export type Wording = string | ((names: OptionNames) => string);

export function worded(text: Wording, names: OptionNames): string {
  return typeof text === "string" ? text : text(names);
}
