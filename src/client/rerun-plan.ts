import { isDeepStrictEqual } from "node:util";
import { type ImageOrigin, originOfFile, originOfTask, shortenedImage } from "../core/engine/origin.ts";
import { UsageError } from "../lib/error-types.ts";
import { parseSeed, type WholeNumber } from "../lib/exact-integer.ts";
import { checkRequest } from "../models/check-request.ts";
import type { Matrix } from "../models/matrix.ts";
import { FLAG_LABELS } from "../models/rules/rule.ts";
import { toInput } from "../models/wire.ts";
import { isAtGenerator, SANDBOX_SERVICE } from "../task/intent.ts";
import type { CheckedRequest, RequestInput } from "../task/request.ts";
import { FIELD_NAMES, type FieldNames, type RepeatedSeed } from "../task/request-fields.ts";
import { getSavedFiles, type Task } from "../task/task.ts";
import { type ClientSession, openLedger } from "./client-session.ts";
import { duplicateSeedError } from "./given-seeds.ts";
import { canUpload, readFieldSettings, toRequestValues } from "./given-values.ts";
import { type FlagsOf, RANDOM } from "./options/option.ts";
import type { RERUN } from "./options/request-table.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";
import { workflowCopy } from "./user-folders.ts";

/** The earlier request is of another service than the one in effect: the user decides. */
export interface OtherService {
  /** Service of the earlier request. */
  at: string;
  kind: "sandbox" | "generator" | "service";
  /** The service in effect; undefined: none is configured. */
  configured: string | undefined;
  /** Whether the service in effect is a free generator. */
  isFree: boolean;
  /** Whether the ledger knows of it: a sidecar may have been written by anyone. */
  isKnown: boolean;
}

/** The decisions of the user about a request that is made again. */
interface RerunCallbacks {
  /** Throws if the user must confirm another service. */
  onOther: (other: OtherService) => never;
  /** The prompt in place of the earlier one, or the same. */
  promptFor: (earlierRequest: string) => Promise<string>;
}

/**
 * The request of an image or a task again, with its seed and the changes of flags. A task gives as many images as before, an
 * image only itself.
 * @returns `repeated`: its task; null if the request was changed
 * @throws UsageError, InvalidRequestError
 */
export async function checkRerun(
  fileOrTaskId: string,
  { seed: seedFlag, ...flags }: FlagsOf<typeof RERUN>,
  session: ClientSession,
  { onOther, promptFor }: RerunCallbacks,
): Promise<{ checked: CheckedRequest; repeated: Task | null }> {
  const isRandom = seedFlag === RANDOM;
  const values = toRequestValues({ ...flags, seed: isRandom ? undefined : seedFlag });
  const earlier = await findEarlierRequest(fileOrTaskId, values.image !== undefined, session);
  preferProvider(earlier, session);
  if (!flags.yes && !session.isSandbox) await requireSameService(earlier, session, onOther);
  await preferTaskSettings(earlier, session);
  const prompt = await promptFor(earlier.request.prompt);
  const mergedInput = { ...earlierInput(earlier), ...values, prompt };
  const target = await targetInEffect(session);
  const terms = await target.terms({ ...flags, model: mergedInput.model });
  const changed = { ...values, isRandom };
  const { input, isSeedGiven } = withFieldFlags(mergedInput, changed, terms?.fieldNames ?? {}, session);
  const rerunRequest = withSeed(input, isSeedGiven ? undefined : earlier.seed, terms?.fieldNames.seed);
  if (earlier.isImage && rerunRequest.seed !== undefined && values.maxImages === undefined)
    delete rerunRequest.input.maxImages;
  // Settings are for new requests, not for an earlier one.
  const generator = terms && { ...terms, defaults: {}, savedFields: {} };
  const uploads = canUpload(generator ? input.image : values.image, session);
  const inherited = FIELD_NAMES.filter((name) => earlier.request[name] !== undefined);
  const unchangedNames = inherited.filter((name) => name !== "prompt" && values[name] === undefined);
  const labels = Object.fromEntries(
    unchangedNames.map((name) => [name, `the request's ${FLAG_LABELS[name].slice(2)}`]),
  );
  const options = { validate: flags.validate, labels, inherited, uploads, generator };
  const checked = checkWithSeed(rerunRequest, await target.matrix(), options);
  const warnings = [...checked.warnings, ...seedWarnings(earlier, isSeedGiven, rerunRequest.seed)];
  const isSame = isDeepStrictEqual(checked.request, earlier.request);
  return { checked: { ...checked, warnings }, repeated: isSame ? earlier.record : null };
}

/** A request again, and the seed that makes the same image, if the target has a field for one. */
interface RerunRequest {
  input: RequestInput;
  seed?: WholeNumber;
  /** The same seed if the request itself names none: the ledger keeps the request unchanged. */
  added?: RepeatedSeed;
}

function withSeed(
  input: RequestInput,
  seed: WholeNumber | undefined,
  field: string | undefined,
): RerunRequest {
  if (seed === undefined || field === undefined) return { input: { ...input } };
  if (input.seed !== undefined) return { input: { ...input, seed }, seed };
  const isNamed = parseSeed(input.fields?.[field]) !== null;
  return { input: { ...input }, seed, ...(!isNamed && { added: { field, first: seed } }) };
}

/** @throws InvalidRequestError */
function checkWithSeed(
  { input, added }: RerunRequest,
  matrix: Matrix,
  options: Parameters<typeof checkRequest>[2],
): CheckedRequest {
  if (added === undefined) return checkRequest(input, matrix, options);
  const checked = checkRequest({ ...input, seed: added.first }, matrix, options);
  const { seed: _added, ...request } = checked.request;
  return { ...checked, request, repeatedSeed: added };
}

/** Warnings if the earlier seed is not used again. */
function seedWarnings(
  { request, record, seed: earlierSeed }: ImageOrigin,
  isGiven: boolean,
  newSeed: WholeNumber | undefined,
): string[] {
  if (isGiven || newSeed !== undefined || request.seed !== undefined) return [];
  if (earlierSeed !== undefined)
    return [`The seed ${earlierSeed} was left out: the generator in effect has no field for one.`];
  if (record === null || getSavedFiles(record).every(({ seed }) => seed === undefined)) return [];
  return [
    "The seeds of the task's images do not follow each other: these are new images. Rerun an image's file to make it again.",
  ];
}

/** Earlier releases wrote fields with the task alone. */
function earlierInput({ request, record }: ImageOrigin): RequestInput {
  const { seed, negative, fields } = request;
  const input = toInput(request);
  if ([seed, negative, fields].some((each) => each !== undefined)) return input;
  return isGeneratorTask(record) ? { ...input, fields: record.intent.options.fields } : input;
}

function isGeneratorTask(record: ImageOrigin["record"]): record is NonNullable<ImageOrigin["record"]> {
  return record !== null && isAtGenerator(record.intent);
}

/**
 * The earlier request's seed, negative prompt and fields, but for those that a flag gives under either name.
 * @returns `isSeedGiven`: whether a flag sets the seed, or asks for a new one
 */
function withFieldFlags(
  merged: RequestInput,
  { isRandom, ...flags }: Pick<RequestInput, "seed" | "negative"> & { isRandom: boolean },
  names: FieldNames,
  { settings }: ClientSession,
): { input: RequestInput; isSeedGiven: boolean } {
  const changed = readFieldSettings((name) => settings.flag(name));
  const isNamed = names.seed !== undefined && Object.hasOwn(changed, names.seed);
  if (isNamed && (isRandom || flags.seed !== undefined)) throw duplicateSeedError(names.seed);
  const fields = { ...merged.fields };
  const input: RequestInput = { ...merged };
  if (isRandom) delete input.seed;
  for (const name of ["seed", "negative"] as const) {
    const field = names[name];
    if (field === undefined) continue;
    if (flags[name] !== undefined || (isRandom && name === "seed")) delete fields[field];
    else if (Object.hasOwn(changed, field)) delete input[name];
  }
  const isSeedGiven = isRandom || isNamed || flags.seed !== undefined;
  return { input: { ...input, fields: { ...fields, ...changed } }, isSeedGiven };
}

/** Prefers the task's own provider if none is configured. */
function preferProvider({ record }: ImageOrigin, { settings, isSandbox }: ClientSession): void {
  const isConfigured = settings.get("generator") !== undefined || settings.get("baseUrl") !== undefined;
  if (isSandbox || isConfigured || !isGeneratorTask(record)) return;
  settings.prefer("generator", record.intent.service.baseUrl, "The task's generator");
}

/**
 * Applies the earlier task's workflow and cost at this generator, unless a flag overrides them: the private copy of the
 * workflow, as the file may have changed; and paid, because a free request is sent again after a lost reply.
 */
async function preferTaskSettings({ record }: ImageOrigin, session: ClientSession): Promise<void> {
  const { settings, folders } = session;
  if (!isGeneratorTask(record) || record.intent.service.baseUrl !== (await nameInEffect(session))) return;
  const { isPaid, options } = record.intent;
  const { workflow } = options;
  if (workflow !== undefined)
    settings.prefer("workflow", workflowCopy(folders, workflow), "The task's workflow");
  if (isPaid && settings.flag("generatorFree") === undefined)
    settings.prefer("generatorPaid", "true", "The task's generatorPaid");
}

/** The ledger's name of the service in effect; undefined if none is configured. @throws UsageError */
async function nameInEffect(session: ClientSession): Promise<string | undefined> {
  return (await targetInEffect(session)).name();
}

/**
 * A request belongs to the service that it was charged at: one that was free at the sandbox must not be charged at
 * another service without a warning.
 */
async function requireSameService(
  { service: at, record }: ImageOrigin,
  session: ClientSession,
  onOther: (other: OtherService) => never,
): Promise<void> {
  const target = await targetInEffect(session);
  const configured = await target.name();
  const kind = at === SANDBOX_SERVICE ? "sandbox" : isGeneratorTask(record) ? "generator" : "service";
  if (configured === at || (configured === undefined && kind === "service")) return;
  const isFree = (await target.terms({ model: undefined, dryRun: true }))?.isFree === true;
  onOther({ at, kind, configured, isFree, isKnown: record !== null });
}

/**
 * The request that an image came from, or of the task that has this id. An image is recognised by its bytes, so it
 * may have been moved or renamed since, but not changed. A request that the ledger lacks may be in the sidecar.
 * @param replacesImages whether its reference images are not needed
 * @throws UsageError if neither has it, or the sidecar has only a part of it
 */
async function findEarlierRequest(
  what: string,
  replacesImages: boolean,
  session: ClientSession,
): Promise<ImageOrigin & { isImage: boolean }> {
  const ledger = openLedger(session);
  const origin = await originOfFile(what, session.context.resolvePath(what), ledger);
  if (origin === null) {
    const record = await ledger.find(what);
    if (record !== null) return { ...originOfTask(record), isImage: false };
    throw new UsageError(`There is neither a file nor a task ${JSON.stringify(what)} on this machine.`, {
      hint: "Nothing was sent. To see the tasks of this machine: imggen history",
    });
  }
  const shortenedUrl = replacesImages ? undefined : shortenedImage(origin);
  if (shortenedUrl === undefined) return { ...origin, isImage: true };
  throw new UsageError(
    `${what} was made from ${shortenedUrl}, and its sidecar omits the part of the URL after the "?".`,
    { hint: "Nothing was sent. Use imggen generate, with --image <url> for each reference image." },
  );
}
