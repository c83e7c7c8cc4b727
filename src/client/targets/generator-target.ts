import path from "node:path";
import { ServiceError } from "../../api/api-errors.ts";
import { ImggenError, UsageError } from "../../lib/error-types.ts";
import { joinFirst } from "../../lib/short-text.ts";
import { option, phrase } from "../../lib/wording.ts";
import type { GeneratorTerms } from "../../models/check-request.ts";
import type { Matrix } from "../../models/matrix.ts";
import { hasModel } from "../../providers/command/command-words.ts";
import { getDefaultModel, knownModels, needsModel } from "../../providers/kinds.ts";
import { parseGeneratorSpec } from "../../providers/spec.ts";
import type { ServiceIdentity } from "../../task/intent.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";
import { describeSetting, type EffectiveValue } from "../effective-settings.ts";
import {
  type GeneratorSource,
  isDeclaredFree,
  readPrice,
  savedCauses,
  type UserGenerator,
} from "../generator-settings.ts";
import { loadGenerator, loadTaskGenerator, requireKnownGenerator } from "./generator-setup.ts";
import { describeRequests, findProblems } from "./generator-work.ts";
import { modelsInEffect } from "./matrix-setting.ts";
import {
  fetchOfferedModels,
  generatorIdentity,
  type OpenGenerator,
  openGenerator,
  queryGenerator,
  returnImggenError,
} from "./open-generator.ts";
import type {
  DescribedRequest,
  OfferedModels,
  Target,
  TargetCheck,
  TargetCheckOptions,
  TargetSession,
  TermsRequest,
} from "./target.ts";

const NAME_MODEL = [
  phrase`Nothing was sent. Add ${option("model")} <name>.`,
  phrase`To set the model for all requests: ${option("generatorModel")}.`,
];

/** The user's generator. Its settings are read on demand. */
export class GeneratorTarget implements Target {
  readonly kind = "generator";
  readonly #name: string;
  readonly #read: () => UserGenerator;
  readonly #session: TargetSession;
  #generator: UserGenerator | undefined;

  constructor(name: string, read: () => UserGenerator, session: TargetSession) {
    this.#name = name;
    this.#read = read;
    this.#session = session;
  }

  /** @throws UsageError */
  static inEffect(setting: EffectiveValue, session: TargetSession): GeneratorTarget {
    const { name } = parseGeneratorSpec(setting.value, setting.label);
    return new GeneratorTarget(name, () => loadGenerator(setting, session), session);
  }

  /** @throws MissingProviderError */
  static forTask(identity: ServiceIdentity, taskId: string, session: TargetSession): GeneratorTarget {
    const { baseUrl: name } = identity;
    requireKnownGenerator(name, taskId, session);
    return new GeneratorTarget(name, () => loadTaskGenerator(identity, session), session);
  }

  /** @throws UsageError */
  get generator(): UserGenerator {
    this.#generator ??= this.#read();
    return this.#generator;
  }

  get identity(): ServiceIdentity {
    return generatorIdentity(this.generator);
  }

  async name(): Promise<string> {
    return this.#name;
  }

  /** Name of the generator's model for clients of `imggen serve`, or null if each request must contain a model name. */
  get ownModel(): { name: string; isOnly: boolean } | null {
    const { spec, options } = this.generator;
    if (options.workflow !== undefined)
      return { name: path.basename(options.workflow.path, ".json"), isOnly: true };
    if (needsModel(spec)) return null;
    return { name: ANY_MODEL, isOnly: spec.kind === "command" && !hasModel(spec.words) };
  }

  url(): URL | null {
    const { spec } = this.generator;
    return spec.kind === "command" ? null : new URL(spec.url);
  }

  async matrix(): Promise<Matrix> {
    return modelsInEffect(this.#session);
  }

  async key(): Promise<string> {
    const { spec, options } = this.generator;
    return JSON.stringify([spec, options]);
  }

  models(timeoutMs?: number): Promise<OfferedModels> {
    return fetchOfferedModels(this.generator, this.#session, timeoutMs);
  }

  open(): Promise<OpenGenerator> {
    return openGenerator(this.generator, this.#session);
  }

  describe(requests: readonly (readonly [name: string, GenerationRequest])[]): Promise<DescribedRequest> {
    return describeRequests(requests, this.generator, this.#session);
  }

  async check(options: TargetCheckOptions): Promise<TargetCheck> {
    const { checkGenerator } = await import("./generator-check.ts");
    return checkGenerator(this.generator, this.#session, options);
  }

  async terms({ model, validate, dryRun, lasts = false }: TermsRequest): Promise<GeneratorTerms> {
    const { generator } = this;
    const session = this.#session;
    const causes = savedCauses(generator.spec, session);
    const hasSaved = causes.length > 0 || hasSavedFields(generator, session);
    const problems = hasSaved ? await findProblems(generator, causes, session) : {};
    const isNeeded = model === undefined || validate !== false || generator.options.workflow !== undefined;
    if (!isNeeded || dryRun === true) return { ...termsWithoutModels(generator, session), ...problems };
    const offeredModels = await fetchOfferedModels(generator, session).catch(returnImggenError);
    const { names, loaded } =
      offeredModels instanceof ImggenError ? { names: null, loaded: null } : offeredModels;
    const loadedModel = lasts ? null : loaded;
    const configuredModel = getConfiguredModel(generator, session);
    const defaultModel =
      configuredModel?.model ??
      (offeredModels instanceof ImggenError
        ? offeredModels
        : (loadedModel ?? getOnlyModel(generator, offeredModels)));
    const isListed = loaded === null || names?.includes(loaded);
    const models =
      names === null ? null : [...names, ...(isListed ? [] : [loaded]), ...knownModelIds(generator)];
    const isFree = !(await isPaid(generator, session));
    return { ...termsFromOptions(generator, session), isFree, defaultModel, models, ...problems };
  }
}

/** Returns terms without querying the generator for its models. */
function termsWithoutModels(generator: UserGenerator, source: GeneratorSource): GeneratorTerms {
  const defaultModel = getConfiguredModel(generator, source)?.model ?? getUnlistedModel(generator);
  return {
    ...termsFromOptions(generator, source),
    isFree: !generator.options.isPaid,
    defaultModel,
    models: null,
  };
}

/** Returns terms without connecting, for synchronous callers. Returns null if no generator is set. */
export function termsFromSettings(source: GeneratorSource): GeneratorTerms | null {
  const setting = source.settings.generator();
  return setting === undefined ? null : termsWithoutModels(loadGenerator(setting, source), source);
}

function termsFromOptions(generator: UserGenerator, source: GeneratorSource) {
  const { fieldNames, defaults, savedFields } = generator.options;
  const modelOrigin = getConfiguredModel(generator, source)?.origin;
  const isFreeByDefault = !isDeclaredFree(generator.spec, source);
  const price = readPrice(generator.spec, source);
  return { isFreeByDefault, price, fieldNames, defaults, savedFields, modelOrigin };
}

function hasSavedFields({ options: { savedFields } }: UserGenerator, { settings }: TargetSession): boolean {
  const { seed, negative, fields } = savedFields;
  const isStored = settings.stored("ratio") !== undefined || settings.stored("quality") !== undefined;
  return isStored || seed !== undefined || negative !== undefined || Object.keys(fields ?? {}).length > 0;
}

/** Whether requests cost money. False for an invalid workflow, with which the submit fails before anything is sent. */
async function isPaid(generator: UserGenerator, session: TargetSession): Promise<boolean> {
  if (generator.options.isPaid || generator.options.workflow === undefined) return generator.options.isPaid;
  const prepared = await queryGenerator(generator, session, async (provider, signal) =>
    provider.prepare?.(signal),
  ).catch(returnImggenError);
  return prepared !== undefined && "isPaid" in prepared && prepared.isPaid;
}

function knownModelIds({ spec }: UserGenerator): string[] {
  return knownModels(spec).map(({ id }) => id);
}

/** Returns the default model, or null. The config's `model` applies only if the generator is from the config. */
function getConfiguredModel(
  { spec, options }: UserGenerator,
  { settings }: GeneratorSource,
): { model: string; origin?: string } | null {
  const generatorModel = settings.flag("generatorModel") ?? settings.stored("generatorModel");
  if (options.model !== null && generatorModel !== undefined)
    return { model: options.model, origin: describeSetting("generatorModel", generatorModel) };
  const setting = settings.get("model");
  const isModelSettingValid = setting?.source === "environment" || settings.generator()?.source === "config";
  if (setting !== undefined && isModelSettingValid)
    return { model: setting.value, origin: describeSetting("model", setting) };
  const model = getDefaultModel(spec);
  return model === null ? null : { model };
}

/** Returns the only model, or an error if there is no model or the user must choose a model. */
function getOnlyModel(generator: UserGenerator, { names, needsName }: OfferedModels): string | ImggenError {
  // The workflow contains the model, so the request needs no model.
  if (generator.options.workflow !== undefined) return ANY_MODEL;
  if (names === null) return getUnlistedModel(generator);
  const [onlyName, ...furtherNames] = names;
  if (onlyName !== undefined && furtherNames.length === 0) return onlyName;
  if (onlyName === undefined)
    return new ServiceError(`${generator.spec.name} has no model that makes images.`, { charged: "no" });
  if (!needsName) return ANY_MODEL;
  return new UsageError(`${generator.spec.name} has ${names.length} models, but no model is chosen.`, {
    hint: [...NAME_MODEL, `Models: ${joinFirst(names)}`],
  });
}

/** Returns the model if no list is known: any model, or an error if the generator needs a name. */
function getUnlistedModel({ spec }: UserGenerator): string | ImggenError {
  if (!needsModel(spec)) return ANY_MODEL;
  return new UsageError(`${spec.name} needs a model name.`, {
    hint: NAME_MODEL,
  });
}
