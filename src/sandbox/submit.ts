import { createHash } from "node:crypto";
import { parseDuration } from "../lib/duration.ts";
import { estimateCost } from "../models/cost.ts";
import { DEFAULT_MODEL, MAX_IMAGES, type Matrix, type Model } from "../models/matrix.ts";
import type { ServiceRequest } from "../server/http.ts";
import { invalidRequest, refusal, type ServerReply, success, unknownError } from "../server/reply.ts";
import { checkBody, readJson } from "../server/request-body.ts";
import { newTaskId } from "../task/task-id.ts";
import type { Account } from "./state/accounts.ts";
import type { SandboxService } from "./state/state.ts";
import type { Task } from "./state/tasks.ts";

/** Section 2.2: models with this prefix need a subscription. */
const SUBSCRIPTION_MODELS = "gamma-image-2-5-";

/** A valid request with its defaults filled in. */
interface SandboxRequest {
  /** As it was sent, with its directives. */
  prompt: string;
  model: Model;
  /** URLs of the reference images. */
  references: readonly string[];
  ratio: string;
  quality: string | undefined;
  imageCount: number;
  credits: number;
}

/** The cost of a request for which section 8 gives no price; the real service may charge more. */
const UNDOCUMENTED_CREDITS = 1;

export function readRequest(
  body: unknown,
  matrix: Matrix,
): { valid: SandboxRequest } | { refused: ServerReply } {
  const checked = checkBody(body, matrix, DEFAULT_MODEL);
  if ("refused" in checked) return checked;
  const { input, model } = checked;
  if (model === undefined) return { refused: invalidRequest("no such model") };
  const { prompt, ratio, quality, maxImages = MAX_IMAGES.default, image: references = [] } = input;
  const valid = {
    prompt,
    model,
    references,
    ratio: ratio ?? model.defaultRatio,
    quality: quality ?? model.defaultQuality ?? undefined,
    imageCount: (model.maxImages ?? 1) > 1 ? maxImages : 1,
    credits: estimateCost(model, quality).credits ?? UNDOCUMENTED_CREDITS,
  };
  return { valid };
}

/** POST /generate-image (section 4.1), for a client with valid credentials. */
export async function submit(
  request: ServiceRequest,
  account: Account,
  service: SandboxService,
): Promise<ServerReply> {
  const body = await readJson(request);
  if ("refused" in body) return body.refused;
  const read = readRequest(body.json, service.matrix);
  if ("refused" in read) return read.refused;
  const { valid } = read;
  const directives = readDirectives(valid.prompt);
  if (directives.unknown !== null)
    service.onNotice?.({ kind: "unknown directive", directive: directives.unknown });
  return refusedFor(valid, directives, account, service) ?? charge(valid, directives, account, service);
}

/** Reasons to refuse a valid request: subscription, rate limit, balance, and injected faults. */
function refusedFor(
  { model, prompt, credits }: SandboxRequest,
  { faults }: Directives,
  account: Account,
  service: SandboxService,
): ServerReply | null {
  const needsSubscription = model.id.startsWith(SUBSCRIPTION_MODELS);
  if (faults.has("subscription") || (needsSubscription && !account.hasSubscription)) {
    return refusal("SUBSCRIPTION_REQUIRED", { status: 403 });
  }
  if (faults.has("429") && isFirstTry(`${account.id} ${prompt}`, service)) {
    return unknownError("asked to come back", { status: 429, headers: { "Retry-After": "1" } });
  }
  if (faults.has("no-credits")) return refusal("my_credits.no_credits_description");
  if (!service.accounts.covers(account, credits)) return tooFewCredits(credits);
  return faults.has("500") ? unknownError("asked for", { status: 500 }) : null;
}

/** For how long a client that got a 429 is let through. */
const REMEMBERED_MS = 60_000;

/** Whether a submit comes for the first time, or for the first time after one that was let through. */
function isFirstTry(submit: string, { refusedAt, clock }: SandboxService): boolean {
  const isRetry = clock.now() - (refusedAt.get(submit) ?? 0) <= REMEMBERED_MS;
  if (isRetry) refusedAt.delete(submit);
  else refusedAt.set(submit, clock.now());
  return !isRetry;
}

/**
 * The task is written before it is charged, and its id is returned only after that. So if the process ends in between,
 * nothing was charged for a task that does not exist.
 */
async function charge(
  valid: SandboxRequest,
  directives: Directives,
  account: Account,
  service: SandboxService,
): Promise<ServerReply> {
  const task = toTask(valid, directives, account, service);
  await service.tasks.add(task);
  const left = service.accounts.charge(account, valid.credits);
  if (left === null) {
    service.tasks.remove(task.taskId);
    return tooFewCredits(valid.credits);
  }
  if (service.draw === undefined && service.onNotice) {
    const { unknownSubject } = await import("../painter/brief.ts");
    const noun = unknownSubject(directives.prompt);
    if (noun !== null) service.onNotice({ kind: "unknown subject", noun });
  }
  const what = `${task.taskId} ${task.model} ${JSON.stringify(shown(valid.prompt))}`;
  const note = `${what}, cost ${valid.credits}, ${left} left`;
  if (directives.faults.has("drop")) return { kind: "silence", note: `${note}, reply dropped` };
  const unread = directives.unknown !== null ? ", with an unknown directive in its prompt" : "";
  return success({ taskId: task.taskId }, note + unread);
}

function toTask(
  { model, references, ratio, quality, imageCount }: SandboxRequest,
  { faults, slowMs, prompt }: Directives,
  account: Account,
  { clock, latencyMs }: SandboxService,
): Task {
  return {
    taskId: newTaskId(),
    account: account.id,
    prompt,
    model: model.id,
    ...(references.length > 0 && { references: fingerprint(references) }),
    ratio,
    ...(quality !== undefined && { quality }),
    imageCount,
    submittedAt: clock.now(),
    durationMs: slowMs ?? latencyMs,
    end: faults.has("fail") ? "failed" : "completed",
    image: faults.has("html") ? "error page" : faults.has("truncate") ? "cut short" : "whole",
    firstUrlExpired: faults.has("expired"),
  };
}

/** Identifies reference images. Their URLs may be signed, and need not be kept. */
function fingerprint(references: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(references)).digest("hex");
}

function tooFewCredits(credits: number): ServerReply {
  return refusal("my_credits.no_credits_description", { why: `it costs ${credits}` });
}

/** A prompt has up to 20,000 characters, which would flood the log. */
function shown(prompt: string): string {
  const most = 100;
  const characters = [...prompt];
  return characters.length > most ? `${characters.slice(0, most).join("")}…` : prompt;
}

/** The directives without a value, as they are written after `sandbox:`. */
export const DIRECTIVES = [
  "fail",
  "no-credits",
  "subscription",
  "429",
  "500",
  "drop",
  "truncate",
  "html",
  "expired",
] as const;

type Fault = (typeof DIRECTIVES)[number];

export interface Directives {
  faults: ReadonlySet<Fault>;
  /** Duration of the task, from `[sandbox:slow=…]`. */
  slowMs: number | null;
  /** The prompt without its directives. */
  prompt: string;
  /** The first unknown directive as it is written; null if there is none. It stays in the prompt, as at the real service. */
  unknown: string | null;
}

const DIRECTIVE = /(\[sandbox:[^\]]{0,40}\])/;

/** Reads `[sandbox:…]` anywhere in a prompt and removes it with the spaces around it. Of two durations the first counts. */
export function readDirectives(prompt: string): Directives {
  const pieces = prompt.split(DIRECTIVE).map((text) => ({ text, meaning: meaningOf(text) }));
  const meanings = pieces.map(({ meaning }) => meaning);
  const plain = pieces.filter(({ meaning }) => meaning === null).map(({ text }) => text.trim());
  return {
    faults: new Set(meanings.filter((meaning) => typeof meaning === "string")),
    slowMs: meanings.find((meaning) => typeof meaning === "number") ?? null,
    prompt: plain.filter((text) => text !== "").join(" "),
    unknown: plain.find((text) => DIRECTIVE.test(text)) ?? null,
  };
}

/** The fault that a piece of a prompt injects, or the duration it sets in milliseconds; null: plain text. */
function meaningOf(piece: string): Fault | number | null {
  if (!DIRECTIVE.test(piece)) return null;
  const text = piece.slice("[sandbox:".length, -1);
  if (text.startsWith("slow=")) return parseDuration(text.slice("slow=".length));
  return DIRECTIVES.find((word) => word === text) ?? null;
}
