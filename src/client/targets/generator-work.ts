import { fileURLToPath } from "node:url";
import { unsupportedPart } from "../../core/engine/jobs.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { InvalidRequestError } from "../../models/invalid-request.ts";
import { requestedSize } from "../../models/requested-size.ts";
import { isLocalFile } from "../../models/rules/images.ts";
import type { GeneratorOptions } from "../../providers/kind.ts";
import { getServerKind } from "../../providers/kinds.ts";
import type { Job, Prepared, Provider } from "../../providers/provider.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";
import type { SavedCause, UserGenerator } from "../generator-settings.ts";
import { modelsFolder } from "../user-folders.ts";
import { createProvider, termsFor, throwAsImggenError } from "./open-generator.ts";
import type { DescribedRequest, TargetSession } from "./target.ts";

/** Checks requests as a submit does, and describes the first request. Does not connect. @throws InvalidRequestError */
export function describeRequests(
  requests: readonly (readonly [name: string, GenerationRequest])[],
  generator: UserGenerator,
  session: TargetSession,
): Promise<DescribedRequest> {
  return withProvider(generator, session, async (provider, prepared) => {
    const jobs = requests.map(([name, request]) => {
      const job = createJob(request, generator.options, prepared, session.context.resolvePath);
      const problem = unsupportedPart(job, provider);
      const prefix = name === "" ? "" : `${name}: `;
      if (problem !== null)
        throw new InvalidRequestError(`${prefix}${problem}`, { hint: "Nothing was sent." });
      return { job, requests: request.maxImages ?? 1 };
    });
    const [first] = jobs;
    return {
      sent: (first && (await provider.describe?.(first.job))) ?? null,
      requests: first?.requests ?? 0,
      isSizedByReference:
        first !== undefined && provider.isSizedByReference === true && requestedSize(first.job) === null,
      seedBy: first === undefined ? null : findSeedChooser(first.job, provider, generator.options),
    };
  });
}

/** Returns the side that chooses the seed, or null if the seed is given or unsupported. */
function findSeedChooser(
  job: Job,
  provider: Provider,
  { fieldNames: { seed: field } }: Pick<GeneratorOptions, "fieldNames">,
): DescribedRequest["seedBy"] {
  if (field === undefined) return null;
  const fields = { ...job.options.fields, [field]: 0 };
  const seededJob = { ...job, request: { ...job.request, seed: 0 }, options: { ...job.options, fields } };
  if (unsupportedPart(seededJob, provider) !== null) return null;
  // The seeds of two tasks are compared, because only a seed that imggen chooses depends on the task.
  const [firstSeed, secondSeed] = ["1", "2"].map((taskId) => provider.getSeed?.({ ...job, taskId }) ?? null);
  if (firstSeed === null) return "the server";
  return firstSeed === secondSeed ? null : "imggen";
}

export interface Problems {
  findProblem: (request: GenerationRequest) => string | null;
  findCause: (request: GenerationRequest, problem: string) => string | null;
}

/** Does not connect. @throws UsageError, InvalidRequestError */
export async function findProblems(
  generator: UserGenerator,
  causes: readonly SavedCause[],
  session: TargetSession,
): Promise<Problems> {
  const { spec, options } = generator;
  const workflow = causes.find(({ setting }) => setting === "workflow");
  const problems = withProvider(generator, session, async (provider, prepared) => {
    const problem = (
      request: GenerationRequest,
      changedOptions: Partial<GeneratorOptions> = {},
      preparation = prepared,
    ) => unsupportedPart(createJob(request, { ...options, ...changedOptions }, preparation), provider);
    const problemWithout = (request: GenerationRequest, setting: SavedCause["setting"]) => {
      if (setting === "generatorSize") return problem(request, { sizeForm: null });
      if (setting === "workflow") return problem(request, {}, { isPaid: false });
      if (request.model !== options.model) return problem(request);
      return problem({ ...request, model: getServerKind(spec)?.firstModel ?? ANY_MODEL });
    };
    return {
      findProblem: (request: GenerationRequest) => problem(request),
      findCause: (request: GenerationRequest, why: string) =>
        causes.find(({ setting }) => problemWithout(request, setting) !== why)?.origin ?? null,
    };
  });
  return problems.catch((error) => {
    if (!(error instanceof ImggenError) || workflow === undefined || error.message.includes(workflow.origin))
      throw error;
    throw new InvalidRequestError(`With ${workflow.origin}: ${error.message}`, {
      cause: error,
      hint: error.hint ?? undefined,
    });
  });
}

async function withProvider<Result>(
  generator: UserGenerator,
  session: TargetSession,
  use: (provider: Provider, prepared: Prepared | undefined) => Promise<Result>,
): Promise<Result> {
  const cacheFolder = modelsFolder(session.folders);
  const provider = await createProvider(generator, session, { cacheFolder });
  try {
    return await use(provider, await provider.prepare?.(null));
  } catch (error) {
    throwAsImggenError(error);
  } finally {
    await provider.close();
  }
}

function createJob(
  request: GenerationRequest,
  options: GeneratorOptions,
  prepared: Prepared | undefined,
  resolvePath = (file: string) => file,
): Job {
  const references = [request.image ?? []].flat().map((image) => toReference(image, resolvePath));
  const { taskId, isPaid, options: work } = termsFor(request, options, prepared);
  return { request, taskId: taskId ?? "", index: 0, isPaid, options: work, references, folder: "" };
}

function toReference(image: string, resolvePath: (file: string) => string) {
  if (!isLocalFile(image)) return { url: image };
  return { file: /^file:/i.test(image) ? fileURLToPath(image) : resolvePath(image), mediaType: "image/*" };
}
