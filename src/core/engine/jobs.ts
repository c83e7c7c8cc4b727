import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { nextSeed, parseSeed } from "../../lib/exact-integer.ts";
import { typeFromName } from "../../lib/image/format.ts";
import { InvalidRequestError } from "../../models/invalid-request.ts";
import type { CheckedJob, Job, Provider, Reference } from "../../providers/provider.ts";
import type { WorkFolders } from "../../store/work-folders.ts";
import { type Intent, type JobOptions, NO_OPTIONS } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { FIELD_NAMES } from "../../task/request-fields.ts";
import { displayId, getAnswer, type Task } from "../../task/task.ts";
import type { Connection } from "./deps.ts";

/** @param index index of the request in its task, from 0 */
export function createJob(
  task: Pick<Task, "id" | "intent" | "requests">,
  index: number,
  attempt: string,
  work: WorkFolders,
): Job {
  const { id, intent } = task;
  return {
    request: intent.request,
    taskId: displayId(task),
    index,
    isPaid: intent.isPaid,
    options: withRequestSeed(index, intent),
    references: toReferences(intent.request),
    folder: work.attemptFolder(id, index, attempt),
    fallbackFiles: fallbackFiles(task, index, attempt),
  };
}

/** Creates a job of which only the provider's id is known. @param folder folder for the reply */
export function createIdJob(taskId: string, folder: string): Job {
  const request = { prompt: "", model: "" };
  return { request, taskId, index: 0, isPaid: true, options: NO_OPTIONS, references: [], folder };
}

/** Paths for a reply if the ledger's disk is full: as recorded, in the output folder, in the temporary folder. */
export function fallbackFiles(
  { id, intent, requests }: Pick<Task, "id" | "intent" | "requests">,
  index: number,
  attempt: string,
): string[] {
  const { destination } = intent;
  const output = destination.kind === "file" ? path.dirname(destination.path) : destination.folder;
  const name = `imggen-reply-${id}-${index}-${attempt}`;
  const request = requests[index];
  const recordedFile =
    request && (getAnswer(request, "completed")?.kept ?? getAnswer(request, "unknown")?.kept);
  const files = [output, tmpdir()].map((folder) => path.join(folder, name));
  return recordedFile !== undefined && path.basename(recordedFile) === name
    ? [...new Set([recordedFile, ...files])]
    : files;
}

/** Each request of a task gets a different seed, because equal seeds would give equal images. */
function withRequestSeed(index: number, { options, repeatedSeed }: Intent): JobOptions {
  const { seedField, fields } = options;
  const field = repeatedSeed?.field ?? seedField;
  if (field === undefined) return options;
  const firstSeed = repeatedSeed?.first ?? parseSeed(fields[field]);
  const seed = firstSeed === null ? null : nextSeed(firstSeed, index);
  return seed === null ? options : { ...options, fields: { ...fields, [field]: seed } };
}

/** Returns a sentence about a part of a job that the provider does not support, or null. */
export function unsupportedPart(
  job: CheckedJob,
  { supports, check }: Pick<Provider, "supports" | "check">,
): string | null {
  const name = FIELD_NAMES.find((each) => job.request[each] !== undefined && !supports.includes(each));
  if (name !== undefined) return `The generator does not support the field ${name}.`;
  return check?.(job) ?? null;
}

export function unsupportedError(
  request: GenerationRequest,
  { provider, termsFor }: Pick<Connection, "provider" | "termsFor">,
): InvalidRequestError | null {
  const { isPaid, options } = termsFor(request);
  const why = unsupportedPart({ request, isPaid, options, references: toReferences(request) }, provider);
  return why === null ? null : new InvalidRequestError(why, { hint: "Nothing was sent." });
}

/** Returns the reference images of a request. A `file:` URL is the path of a private copy that imggen made. */
export function toReferences({ image = [] }: GenerationRequest): Reference[] {
  return [image].flat().map((url) => {
    if (!/^file:/i.test(url)) return { url };
    const file = fileURLToPath(url);
    return { file, mediaType: `image/${typeFromName(path.basename(file)) ?? "png"}` };
  });
}
