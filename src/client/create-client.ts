import { UsageError } from "../lib/error-types.ts";
import type { OptionNames } from "../lib/wording.ts";
import { readMatrix } from "../models/matrix-file/read.ts";
import { readSettings, settingsFile } from "../store/settings-file.ts";
import { checkApiKey, checkBaseUrl } from "./account.ts";
import type { Client } from "./client.ts";
import { clientOf } from "./client-of.ts";
import { EffectiveSettings } from "./effective-settings.ts";
import { foldersOf } from "./folders.ts";
import { MATRIX_FORM } from "./matrix-in-effect.ts";
import { type ClientOptions, checkOptions } from "./options.ts";
import { orFailure } from "./report-json.ts";
import type { ClientSession } from "./session.ts";
import { thisProcess } from "./this-process.ts";

/** Makes a client. Nothing is connected or written before its first call. @throws ImggenFailure for options it cannot use */
export function createClient(options: ClientOptions = {}): Client {
  return orFailure(() => {
    checkOptions("createClient", options);
    return clientOf(sessionOf(options), options.requestTimeoutMs);
  }, PACKAGE_NAMES);
}

/** The session of a client: this process, with the options in place of its environment. */
function sessionOf({ baseUrl, apiKey, sandbox, home, matrix }: ClientOptions): ClientSession {
  if (sandbox && (baseUrl !== undefined || apiKey !== undefined))
    throw new UsageError("createClient: sandbox takes neither baseUrl nor apiKey.");
  if (baseUrl !== undefined) checkBaseUrl(baseUrl, "baseUrl");
  if (apiKey !== undefined) checkApiKey(apiKey, "apiKey");
  const own = thisProcess();
  const env = home === undefined ? own.env : { ...own.env, IMGGEN_HOME: home };
  const context = { ...own, env };
  const folders = foldersOf(context);
  // Read again when it is needed; here, so that the message is about the option.
  if (matrix !== undefined) readMatrix(context.resolvePath(matrix), MATRIX_FORM);
  const overridden = {
    ...env,
    ...given("IMGGEN_BASE_URL", baseUrl),
    ...given("IMGGEN_API_KEY", apiKey),
    ...given("IMGGEN_MATRIX", matrix),
  };
  return {
    context,
    folders,
    settings: new EffectiveSettings(overridden, () => readSettings(settingsFile(folders.config))),
    optionNames: PACKAGE_NAMES,
    isSandbox: sandbox === true,
    onRefill() {},
  };
}

function given(name: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: value };
}

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
