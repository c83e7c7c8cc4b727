import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import type { GeneratorOptions, ProviderDeps } from "../../src/providers/kind.ts";
import { type GeneratorSpec, openProvider, type ParsedSpec } from "../../src/providers/kinds.ts";
import type { Job, PollOptions, Provider, Reference, SubmitReply } from "../../src/providers/provider.ts";
import type { JobOptions } from "../../src/task/intent.ts";
import type { GenerationRequest } from "../../src/task/request.ts";
import { PICTURE } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What is set about a generator where a test says nothing. */
export const OPTIONS: GeneratorOptions = {
  model: null,
  sidePx: 1024,
  sizeForm: null,
  concurrency: 1,
  timeoutMs: 30_000,
  defaults: {},
  savedFields: {},
  fieldNames: { seed: "seed", negative: "negative" },
  headers: {},
  isPaid: false,
  key: null,
};

/** A provider as the program opens it. */
export function opened(
  spec: GeneratorSpec | ParsedSpec,
  options: Partial<GeneratorOptions> = {},
  env: Record<string, string | undefined> = { PATH: process.env.PATH },
  deps: Partial<ProviderDeps> = {},
): Promise<Provider> {
  const usual = { env, proxies: undefined, clock: systemClock };
  if (spec.kind === "npm" && !("server" in spec))
    throw new TypeError("it is not known where it is installed");
  return openProvider(spec, { ...OPTIONS, ...options }, { ...usual, ...deps });
}

/** A job's parts, whichever of its parts they belong to. */
export type JobParts = Partial<
  Omit<Job, "request" | "options"> &
    JobOptions &
    Pick<GenerationRequest, "prompt" | "ratio" | "quality" | "negative">
>;

/** A job in a private folder of its own. */
export async function jobFor(overrides: JobParts = {}): Promise<Job> {
  const { prompt = "a red fox", ratio, quality, negative, ...parts } = overrides;
  const { model = null, width = 64, height = 48, sizeForm = null, fields = {}, ...others } = parts;
  const folder = path.join(await temporaryFolder(), "job");
  await mkdir(folder, { mode: 0o700 });
  return {
    request: {
      prompt,
      model: model ?? "default",
      ...(ratio && { ratio }),
      ...(quality && { quality }),
      ...(negative && { negative }),
    },
    taskId: "task_1",
    index: 0,
    isPaid: false,
    options: { model, width, height, sizeForm, fields },
    references: [],
    folder,
    ...others,
  };
}

/** A reference image that is a file of this disk. */
export async function fileReference(bytes: Buffer = PICTURE) {
  const file = path.join(await temporaryFolder(), "fox.png");
  await writeFile(file, bytes);
  return { file, mediaType: "image/png" } satisfies Reference;
}

/** A reference image that is in its own URL. */
export const DATA_REFERENCE = { url: `data:image/png;base64,${PICTURE.toString("base64")}` };

/** Nothing gives the job up, and nobody follows it. */
export const ALONE = { signal: new AbortController().signal, onProgress: () => {}, onSent: () => {} };

/** The context of a poll: of a job that is like any, unless the test has one. */
export async function polling(how: Partial<PollOptions> = {}): Promise<PollOptions> {
  return { job: await jobFor(), signal: ALONE.signal, ...how };
}

/** A reply in one word, that of its outcome or of its error's type, and what it says. */
export function told(reply: SubmitReply | null) {
  if (reply === null) return { what: "nothing", message: "" };
  const error = "error" in reply ? (reply.error ?? null) : null;
  const what = reply.outcome === "refused" ? reply.error.type : reply.outcome;
  const why = reply.outcome === "unknown" ? reply.why : "";
  return { what, message: error?.message ?? why, hint: error?.hint ?? null };
}
