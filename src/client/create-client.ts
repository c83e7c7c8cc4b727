import { UsageError } from "../lib/error-types.ts";
import { COMMAND_VOCABULARY, type Vocabulary } from "../lib/wording.ts";
import { readMatrix } from "../models/matrix-file/read-matrix.ts";
import { checkApiKey, checkBaseUrl } from "./account.ts";
import { type Client, createSessionClient } from "./client.ts";
import type { ClientSession } from "./client-session.ts";
import { EffectiveSettings, type SettingFlags, settingFlags, storedSettings } from "./effective-settings.ts";
import type { ClientOptions } from "./options/call-options.ts";
import { checkOptions } from "./options/call-table.ts";
import { orFailure } from "./report-json.ts";
import { loadGenerator } from "./targets/generator-setup.ts";
import { MATRIX_HINT } from "./targets/matrix-setting.ts";
import { thisProcess } from "./this-process.ts";
import { userFolders } from "./user-folders.ts";
import { requireUtf8Variables } from "./valid-text.ts";

/** Creates a client. Connects and writes nothing before the first call. @throws ImggenFailure for invalid options */
export function createClient(options: ClientOptions = {}): Client {
  return orFailure(() => {
    checkOptions("createClient", options);
    return createSessionClient(createSession(options), options.requestTimeoutMs);
  }, PACKAGE_WORDS);
}

function createSession(options: ClientOptions): ClientSession {
  const { baseUrl, apiKey, sandbox, generator, generatorKey, home, matrix } = options;
  const isService = baseUrl !== undefined || apiKey !== undefined;
  if (sandbox && (isService || generator !== undefined))
    throw new UsageError("createClient: sandbox does not support baseUrl, apiKey or generator.");
  if (generator !== undefined && isService)
    throw new UsageError("createClient: generator does not support baseUrl or apiKey.");
  if (baseUrl !== undefined) checkBaseUrl(baseUrl, "baseUrl");
  if (apiKey !== undefined) checkApiKey(apiKey, "apiKey");
  const currentProcess = thisProcess();
  requireUtf8Variables(currentProcess.env);
  const env =
    home === undefined
      ? currentProcess.env
      : { ...currentProcess.env, IMGGEN_HOME: home && currentProcess.resolvePath(home) };
  const context = { ...currentProcess, env };
  const folders = userFolders(context);
  // Reads the matrix now, because a later error would mention IMGGEN_MATRIX instead of the option.
  if (matrix !== undefined) readMatrix(context.resolvePath(matrix), MATRIX_HINT);
  const overriddenEnv = {
    ...env,
    // The option `baseUrl` overrides IMGGEN_GENERATOR, because both choose the target of requests.
    ...(baseUrl !== undefined && { IMGGEN_GENERATOR: undefined }),
    ...variable("IMGGEN_GENERATOR_KEY", generatorKey),
    ...variable("IMGGEN_BASE_URL", baseUrl),
    ...variable("IMGGEN_API_KEY", apiKey),
    ...variable("IMGGEN_MATRIX", matrix),
  };
  const readStored = () => storedSettings(folders.config);
  const settings = new EffectiveSettings(
    overriddenEnv,
    readStored,
    generatorSettings(options),
    sandbox === true,
  );
  const setting = sandbox ? undefined : settings.flag("generator");
  // Loads the generator now, so that `createClient` throws if the option is invalid.
  if (setting !== undefined) loadGenerator(setting, { settings, context, folders });
  return {
    context,
    folders,
    settings,
    words: PACKAGE_WORDS,
    isSandbox: sandbox === true,
  };
}

function generatorSettings(options: ClientOptions): SettingFlags {
  const { generator, generatorModel, workflow, generatorConcurrency } = options;
  const { generatorTimeoutMs: timeoutMs, generatorPaid: isPaid } = options;
  const settings = {
    ...{ generator, generatorModel, workflow, generatorConcurrency },
    generatorTimeout: timeoutMs === undefined ? undefined : `${timeoutMs}ms`,
    generatorPaid: isPaid === true ? true : undefined,
    generatorFree: isPaid === false ? true : undefined,
  };
  return settingFlags(settings, (name) => name);
}

function variable(name: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: value };
}

/** Names of options and actions in messages. An action that the package has no call for is shown as a command. */
export const PACKAGE_WORDS: Vocabulary = {
  options: {
    output: "output",
    name: "name",
    overwrite: "overwrite: true",
    again: "again: true",
    maxCredits: "maxCredits",
    noValidate: "validate: false",
    noWait: "wait: false",
    yes: "yes: true",
    retryFailed: "retryFailed: true",
    shard: "shard",
    resubmitUnknown: "resubmitUnknown: true",
    sandbox: "sandbox: true",
    model: "model",
    generator: "generator",
    generatorModel: "generatorModel",
    generatorHeader: null,
    generatorPrice: null,
    checkImages: "checkImages",
    uploadCache: "uploadCache: false",
    home: "home",
  },
  actions: {
    ...COMMAND_VOCABULARY.actions,
    setApiKey: () => "Give createClient an apiKey, set IMGGEN_API_KEY, or run imggen login.",
    setBaseUrl: () => "Give createClient a baseUrl, or run imggen login --base-url <url>.",
    trySandbox: () => "use createClient({ sandbox: true })",
    reference: () => "Nothing was sent. The options are described in the package's types.",
  },
};
