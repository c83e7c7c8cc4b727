import { isDeepStrictEqual } from "node:util";
import { type ImageOrigin, originOfFile, originOfTask, shortenedImage } from "../core/engine/origin.ts";
import { UsageError } from "../lib/error-types.ts";
import { parseSeed, type WholeNumber } from "../lib/exact-integer.ts";
import { checkRequest } from "../models/check-request.ts";
import type { Matrix } from "../models/matrix.ts";
import { FLAG_LABELS } from "../models/rules/rule.ts";
import { requestToInput } from "../models/wire.ts";
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

/** Difference between the earlier request's service and the configured service. */
export interface OtherService {
  at: string;
  kind: "sandbox" | "generator" | "service";
  configured: string | undefined;
  isFree: boolean;
  /** Whether the ledger has the earlier task. If not, the request is from a sidecar, which anyone could write. */
  isKnown: boolean;
}

interface RerunCallbacks {
  /** Throws, because the user must confirm the other service. */
  onOther: (otherService: OtherService) => never;
  /** Returns the changed prompt, or `earlierPrompt` if the user does not change the prompt. */
  promptFor: (earlierPrompt: string) => Promise<string>;
}

/**
 * Checks the request that repeats an image, or all images of a task, with the earlier seed and changes from flags.
 * @returns `repeated`: the earlier task, or null if the request was changed
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
  const origin = await findEarlierRequest(fileOrTaskId, values.image !== undefined, session);
  preferProvider(origin, session);
  if (!flags.yes && !session.isSandbox) await requireSameService(origin, session, onOther);
  await preferTaskSettings(origin, session);
  const prompt = await promptFor(origin.request.prompt);
  const mergedInput = { ...earlierInput(origin), ...values, prompt };
  const target = await targetInEffect(session);
  const terms = await target.terms({ ...flags, model: mergedInput.model });
  const changedValues = { ...values, isRandom };
  const { input, isSeedGiven } = withFieldFlags(mergedInput, changedValues, terms?.fieldNames ?? {}, session);
  const rerunRequest = withSeed(input, isSeedGiven ? undefined : origin.seed, terms?.fieldNames.seed);
  if (origin.isImage && rerunRequest.seed !== undefined && values.maxImages === undefined)
    delete rerunRequest.input.maxImages;
  // Removes the defaults from settings, because settings apply only to new requests.
  const generator = terms && { ...terms, defaults: {}, savedFields: {} };
  const uploads = canUpload(generator ? input.image : values.image, session);
  const inherited = FIELD_NAMES.filter((name) => origin.request[name] !== undefined);
  const unchangedNames = inherited.filter((name) => name !== "prompt" && values[name] === undefined);
  const labels = Object.fromEntries(
    unchangedNames.map((name) => [name, `the request's ${FLAG_LABELS[name].slice(2)}`]),
  );
  const options = { validate: flags.validate, labels, inherited, uploads, generator };
  const checked = checkWithSeed(rerunRequest, await target.matrix(), options);
  const warnings = [...checked.warnings, ...seedWarnings(origin, isSeedGiven, rerunRequest.seed)];
  const isUnchanged = isDeepStrictEqual(checked.request, origin.request);
  return { checked: { ...checked, warnings }, repeated: isUnchanged ? origin.record : null };
}

/** A repeated request, and the seed of its image if the target supports seeds. */
interface RerunRequest {
  input: RequestInput;
  seed?: WholeNumber;
  /**
   * Seed of the image, if the earlier request has no seed. It is sent, but is not part of the request, which stays
   * equal to the earlier request.
   */
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

function seedWarnings(
  { request, record, seed: earlierSeed }: ImageOrigin,
  isGiven: boolean,
  newSeed: WholeNumber | undefined,
): string[] {
  if (isGiven || newSeed !== undefined || request.seed !== undefined) return [];
  if (earlierSeed !== undefined)
    return [`The seed ${earlierSeed} was left out: the generator in effect does not support seeds.`];
  if (record === null || getSavedFiles(record).every(({ seed }) => seed === undefined)) return [];
  return [
    "The seeds of the task's images are not consecutive, so these are new images. To repeat an image, rerun its file.",
  ];
}

/** Uses the task's fields if the request has none, because earlier releases recorded fields only in the task. */
function earlierInput({ request, record }: ImageOrigin): RequestInput {
  const { seed, negative, fields } = request;
  const input = requestToInput(request);
  if ([seed, negative, fields].some((each) => each !== undefined)) return input;
  return isGeneratorTask(record) ? { ...input, fields: record.intent.options.fields } : input;
}

function isGeneratorTask(record: ImageOrigin["record"]): record is NonNullable<ImageOrigin["record"]> {
  return record !== null && isAtGenerator(record.intent);
}

/** Applies `--seed`, `--negative`, `--field`. @returns `isSeedGiven`: whether a flag sets the seed, also to random */
function withFieldFlags(
  mergedInput: RequestInput,
  { isRandom, ...flags }: Pick<RequestInput, "seed" | "negative"> & { isRandom: boolean },
  fieldNames: FieldNames,
  { settings }: ClientSession,
): { input: RequestInput; isSeedGiven: boolean } {
  const changedFields = readFieldSettings((name) => settings.flag(name));
  const isNamed = fieldNames.seed !== undefined && Object.hasOwn(changedFields, fieldNames.seed);
  if (isNamed && (isRandom || flags.seed !== undefined)) throw duplicateSeedError(fieldNames.seed);
  const fields = { ...mergedInput.fields };
  const input: RequestInput = { ...mergedInput };
  if (isRandom) delete input.seed;
  for (const name of ["seed", "negative"] as const) {
    const field = fieldNames[name];
    if (field === undefined) continue;
    if (flags[name] !== undefined || (isRandom && name === "seed")) delete fields[field];
    else if (Object.hasOwn(changedFields, field)) delete input[name];
  }
  const isSeedGiven = isRandom || isNamed || flags.seed !== undefined;
  return { input: { ...input, fields: { ...fields, ...changedFields } }, isSeedGiven };
}

/** Uses the task's generator if neither a generator nor a base URL is configured. */
function preferProvider({ record }: ImageOrigin, { settings, isSandbox }: ClientSession): void {
  const isConfigured = settings.get("generator") !== undefined || settings.get("baseUrl") !== undefined;
  if (isSandbox || isConfigured || !isGeneratorTask(record)) return;
  settings.prefer("generator", record.intent.service.baseUrl, "The task's generator");
}

/**
 * Applies the task's workflow. The generator of a paid task counts as paid, because imggen submits a free request again
 * after a lost reply.
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

/** @throws UsageError */
async function nameInEffect(session: ClientSession): Promise<string | undefined> {
  return (await targetInEffect(session)).name();
}

/** Calls `onOther` if another service would be charged, for example after a free request at the sandbox. */
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
 * Finds the earlier request of an image or task id. An image is found by its bytes, even if it was moved.
 * @throws UsageError if neither the ledger nor a sidecar contains the complete request
 */
async function findEarlierRequest(
  fileOrTaskId: string,
  replacesImages: boolean,
  session: ClientSession,
): Promise<ImageOrigin & { isImage: boolean }> {
  const ledger = openLedger(session);
  const origin = await originOfFile(fileOrTaskId, session.context.resolvePath(fileOrTaskId), ledger);
  if (origin === null) {
    const record = await ledger.find(fileOrTaskId);
    if (record !== null) return { ...originOfTask(record), isImage: false };
    throw new UsageError(
      `There is neither a file nor a task ${JSON.stringify(fileOrTaskId)} on this machine.`,
      {
        hint: "Nothing was sent. To see the tasks of this machine: imggen history",
      },
    );
  }
  const shortenedUrl = replacesImages ? undefined : shortenedImage(origin);
  if (shortenedUrl === undefined) return { ...origin, isImage: true };
  throw new UsageError(
    `${fileOrTaskId} was made from ${shortenedUrl}, and its sidecar omits the part of the URL after the "?".`,
    { hint: "Nothing was sent. Use imggen generate, with --image <url> for each reference image." },
  );
}
