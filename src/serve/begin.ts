import path from "node:path";
import { checkDailyLimit, overDailyLimit } from "../core/limits/budget.ts";
import { referencesOf } from "../core/engine/jobs.ts";
import { WAIT_MS } from "../core/task/task-writer.ts";
import { isoTime } from "../lib/clock.ts";
import { ImggenError } from "../lib/error-types.ts";
import { listed } from "../lib/short-text.ts";
import { checkRequest } from "../models/check-request.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import type { Intent } from "../task/intent.ts";
import { withLine } from "../task/task.ts";
import { ANY_MODEL, type CheckedRequest, type RequestInput } from "../task/request.ts";
import type { Work, WorkOptions } from "../task/intent.ts";
import type { TaskNames } from "./idempotency-keys.ts";
import type { Service } from "./server-parts.ts";

/** What a client asks for. */
export interface Order {
  input: RequestInput;
  /** What it says beside the document's fields. */
  options?: Partial<Pick<WorkOptions, "width" | "height" | "fields">>;
  /** `file:` URLs of this server's private copies of reference images that came with the request. */
  copies?: readonly string[];
}

/** Why no task was begun. `limit`: what may be spent in a day. `server`: the disk. `other body`: of the same key. */
export interface NotBegun {
  kind: "invalid" | "no such model" | "limit" | "server" | "other body";
  /** The field that is wrong, if it is one. */
  field: "model" | "image" | "prompt" | null;
  detail: string;
}

export type Begun = { taskId: string } | { refused: NotBegun };

/** How long a generator may take to say what a workflow is worth. */
const PREPARE_MS = 15_000;

/** The most that the document allows for any model. */
const MOST_REFERENCES = 16;

/**
 * Checks a request and begins its task: it is on disk, and before the generator, when this returns. Nothing waits for
 * the generator, but for the refusal of a model that it seems not to have.
 * @param names those that an earlier attempt has given it; null: new ones
 */
export async function begin(order: Order, service: Service, names: TaskNames | null = null): Promise<Begun> {
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
    return await beginChecked(intent, service, names);
  } catch (error) {
    return refusedBy(error);
  }
}

/** The refusal of a request that was not begun because of an expected error. @throws any other error */
export function refusedBy(error: unknown): { refused: NotBegun } {
  if (!(error instanceof ImggenError)) throw error;
  if (error.type === "invalid_request") return refused("invalid", null, error.message);
  return refused(error.type === "budget_exceeded" ? "limit" : "server", null, error.message);
}

function refused(kind: NotBegun["kind"], field: NotBegun["field"], detail: string) {
  return { refused: { kind, field, detail } };
}

/** Why reference images cannot be used; null if they can. Anyone with the key is a client, so no file may be named. */
function wrongReference(images: readonly string[], count: number): string | null {
  if (count > MOST_REFERENCES) return `At most ${MOST_REFERENCES} reference images can be given.`;
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

type WithWork = Intent & { work: Work };

function intentOf(
  { request, credits }: CheckedRequest,
  { options }: Order,
  { connection, folder, name: server, isFree }: Service,
  names: TaskNames | null,
): WithWork {
  const defaults = connection.generator.workFor(request);
  const taskId = names?.taskId ?? defaults.taskId;
  const fields = { ...defaults.options.fields, ...options?.fields };
  const work = { ...defaults, taskId, options: { ...defaults.options, ...options, fields } };
  const place = path.join(folder, FILES, taskId);
  const destination = { kind: "file", path: place, overwrite: false } as const;
  // A workflow can cost money at a generator that is free: how much, nobody knows.
  const price = isFree && work.isPaid ? null : credits;
  return { request, service: connection.identity, credits: price, destination, work, server };
}

/** The folder of the images within that of a server. */
export const FILES = "files";

function unfitFor({ request, work }: WithWork, { connection }: Service): string | null {
  const { isPaid, options } = work;
  return connection.provider.check?.({ request, isPaid, options, references: referencesOf(request) }) ?? null;
}

async function beginChecked(intent: WithWork, service: Service, names: TaskNames | null): Promise<Begun> {
  const { ledger, clock, matrix, queue, admission } = service;
  const { credits, work } = intent;
  const { taskId } = work;
  const cost = { credits: credits ?? 0, undocumented: credits === null ? 1 : 0 };
  await checkDailyLimit(cost, intent.service.keyId, service, { matrix, allowUndocumented: false });
  const owned = await (names === null
    ? ledger.begin(intent, WAIT_MS)
    : ledger.beginAs(names.id, intent, null, WAIT_MS));
  if (owned === "taken") return { taskId };
  const tooMuch = await overDailyLimit(owned.record, service);
  if (tooMuch !== null) {
    await ledger.withdraw(owned);
    throw tooMuch;
  }
  // Hundreds may wait: none of them keeps its file open.
  await owned.release();
  queue.add(withLine(owned.record, { type: "released", at: isoTime(clock.now()) }));
  admission.breaker.retryAccount();
  return { taskId };
}
