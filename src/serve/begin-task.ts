import { createHash } from "node:crypto";
import path from "node:path";
import { referencesOf, unsupportedPart } from "../core/engine/jobs.ts";
import { checkDailyLimit, spendingAccount } from "../core/limits/budget.ts";
import { ImggenError } from "../lib/error-types.ts";
import { listed } from "../lib/short-text.ts";
import { checkRequest } from "../models/check-request.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import { UnreadableRecordError } from "../store/store-errors.ts";
import { type Intent, isAtGenerator, type JobOptions } from "../task/intent.ts";
import { ANY_MODEL, type CheckedRequest, type RequestInput } from "../task/request.ts";
import { unsentCredits } from "../task/task.ts";
import { newTaskId } from "../task/task-id.ts";
import type { TaskNames } from "./idempotency-keys.ts";
import type { Service } from "./serve-options.ts";

/** What a client asks for. */
export interface Order {
  input: RequestInput;
  /** What it says beside the document's fields. */
  options?: Partial<Pick<JobOptions, "width" | "height" | "fields">>;
  /** `file:` URLs of this server's private copies of reference images that came with the request. */
  copies?: readonly string[];
}

/**
 * Why no task was begun. `limit`: of the day's credits. `server`: the disk. `other body`: the key belongs to another request.
 * `damaged key`: its file cannot be read.
 */
export interface NotBegun {
  kind: "invalid" | "no such model" | "limit" | "server" | "other body" | "damaged key";
  /** The field that is wrong, if it is one. */
  field: "model" | "image" | "prompt" | null;
  detail: string;
}

export type Begun = { taskId: string } | { refused: NotBegun };

/** How long a generator may take to say what a workflow is worth. */
const PREPARE_MS = 15_000;

/** The most that the document allows for any model. */
const MAX_REFERENCES = 16;

const OTHER_BODY = "This Idempotency-Key was used for another request. Use a new key for each request.";

/**
 * Checks a request and begins its task: it is on disk, and with the runner, when this returns. Nothing waits for the provider,
 * except to refuse a model that it seems not to have. With an idempotency key the same request is the same task for a week,
 * whatever crashed in between.
 */
export async function begin(order: Order, service: Service, key: string | undefined): Promise<Begun> {
  if (key === undefined) return beginAs(order, service, null);
  return service.keys.inTurn(key, () => beginOnce(key, order, service)).catch(refusedBy);
}

async function beginOnce(key: string, order: Order, service: Service): Promise<Begun> {
  const { keys, ledger } = service;
  const digest = digestOf(order);
  const { entry, isNew } = await keys.claim(key, digest);
  if (entry.digest !== digest) return refused("other body", null, OTHER_BODY);
  const wasBegun = async () => (await ledger.read(entry.id)) !== null;
  if (!isNew && (await wasBegun())) return { taskId: entry.taskId };
  const begun = await beginAs(order, service, entry);
  if ("refused" in begun && isNew && !(await wasBegun())) keys.forget(key);
  return begun;
}

function digestOf({ input, options, copies }: Order): string {
  const ordered = Object.entries({ ...input }).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([ordered, options, copies]))
    .digest("hex");
}

/** @param names those of an earlier attempt to begin it; null: new ones */
async function beginAs(order: Order, service: Service, names: TaskNames | null): Promise<Begun> {
  const { input, copies = [] } = order;
  const model = input.model ?? service.defaultModel ?? ANY_MODEL;
  const images = input.image ?? [];
  const wrong = wrongReference(images, images.length + copies.length);
  if (wrong !== null) return refused("invalid", "image", wrong);
  if (model !== ANY_MODEL && (await service.modelList.lacks(model)))
    return refused("no such model", "model", noSuchModel(model, service));
  try {
    const withCopies = copies.length === 0 ? input : { ...input, image: [...images, ...copies] };
    const checked = checkedOf({ ...withCopies, model }, service);
    await service.connection.generator.prepare?.(AbortSignal.timeout(PREPARE_MS));
    const intent = intentOf(checked, order, service, names);
    const unfit = unfitFor(intent, service);
    if (unfit !== null) return refused("invalid", null, unfit);
    return await service.limited.run(() => beginChecked(intent, service, names));
  } catch (error) {
    return refusedBy(error);
  }
}

/** The refusal of a request that was not begun because of an expected error. @throws any other error */
function refusedBy(error: unknown): { refused: NotBegun } {
  if (!(error instanceof ImggenError)) throw error;
  if (error instanceof UnreadableRecordError) return refused("damaged key", null, error.message);
  if (error.type === "invalid_request") return refused("invalid", null, error.message);
  return refused(error.type === "budget_exceeded" ? "limit" : "server", null, error.message);
}

function refused(kind: NotBegun["kind"], field: NotBegun["field"], detail: string) {
  return { refused: { kind, field, detail } };
}

/** Why reference images cannot be used; null if they can. Anyone with the key is a client, so no file may be named. */
function wrongReference(images: readonly string[], count: number): string | null {
  if (count > MAX_REFERENCES) return `At most ${MAX_REFERENCES} reference images can be given.`;
  const isFit = (url: string) => URL.canParse(url) && /^(?:https?|data):$/.test(new URL(url).protocol);
  return images.every(isFit) ? null : "A reference image is no http, https or data URL.";
}

function noSuchModel(model: string, { modelList, connection }: Service): string {
  const { name } = connection.generator;
  return `${name} has no model ${JSON.stringify(model)}. It has: ${listed(modelList.names ?? [])}`;
}

/** Checks a request by the matrix's rules alone: the generator itself refuses anything else. */
function checkedOf(input: RequestInput, { matrix, isFree, fieldTerms }: Service): CheckedRequest {
  const generator = { isFree, defaultModel: ANY_MODEL, models: null, ...fieldTerms };
  return checkRequest(input, matrix, { validate: false, labels: FIELD_LABELS, generator });
}

function intentOf(
  { request, credits }: CheckedRequest,
  { options }: Order,
  { connection, folder, name: server, isFree }: Service,
  names: TaskNames | null,
): Intent {
  const defaults = connection.termsFor(request);
  const taskId = names?.taskId ?? defaults.taskId ?? newTaskId();
  const fields = { ...defaults.options.fields, ...options?.fields };
  const terms = { ...defaults, taskId, options: { ...defaults.options, ...options, fields } };
  const place = path.join(folder, FILES, taskId);
  const destination = { kind: "file", path: place, overwrite: false } as const;
  // A workflow can cost money at a generator that is free: how much, nobody knows.
  const price = isFree && terms.isPaid ? null : credits;
  return { request, service: connection.identity, credits: price, destination, ...terms, server };
}

/** The folder of the images within that of a server. */
export const FILES = "files";

function unfitFor({ request, isPaid, options }: Intent, { connection }: Service): string | null {
  return unsupportedPart(
    { request, isPaid, options, references: referencesOf(request) },
    connection.provider,
  );
}

async function beginChecked(intent: Intent, service: Service, names: TaskNames | null): Promise<Begun> {
  const { ledger, matrix, runner, gate } = service;
  const { credits, taskId: ownId } = intent;
  const cost = {
    credits: credits ?? 0,
    undocumented: credits === null ? 1 : 0,
    waiting: waitingCredits(service),
  };
  const account = spendingAccount(intent.service, isAtGenerator(intent));
  await checkDailyLimit(cost, account, service, { matrix, allowUndocumented: false });
  const taskId = ownId ?? "";
  const owned = await ledger.begin(intent, names === null ? {} : { id: names.id, isShared: true });
  if (owned === "taken") return { taskId };
  // Hundreds may wait: none of them keeps its file open.
  ledger.release(owned, true);
  runner.take(owned.task);
  gate.retryAccount();
  return { taskId };
}

/** What the server's tasks cost that are still to be submitted, in credits: the day's sum has them only then. */
function waitingCredits({ runner }: Pick<Service, "runner">): number {
  const paid = runner.open.filter(({ task }) => task.intent.isPaid);
  return paid.reduce((sum, { task }) => sum + (unsentCredits(task) ?? 0), 0);
}
