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
  /** With its directives. */
  prompt: string;
  model: Model;
  /** URLs of the reference images. */
  references: readonly string[];
  ratio: string;
  quality: string | undefined;
  imageCount: number;
  credits: number;
}

/** The cost of a request without a documented price; the real service may charge more. */
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
  const parsed = readRequest(body.json, service.matrix);
  if ("refused" in parsed) return parsed.refused;
  const { valid } = parsed;
  const directives = readDirectives(valid.prompt);
  if (directives.unknown !== null)
    service.onNotice?.({ kind: "unknown directive", directive: directives.unknown });
  return findRefusal(valid, directives, account, service) ?? charge(valid, directives, account, service);
}

/** Refuses a valid request because of subscription, rate limit, balance or an injected fault. */
function findRefusal(
  { model, prompt, credits }: SandboxRequest,
  { faults }: Directives,
  account: Account,
  service: SandboxService,
): ServerReply | null {
  const needsSubscription = model.id.startsWith(SUBSCRIPTION_MODELS);
  if (faults.has("subscription") || (needsSubscription && !account.hasSubscription)) {
    return refusal("SUBSCRIPTION_REQUIRED", { status: 403 });
  }
  if (faults.has("429") && isFirstAttempt(`${account.id} ${prompt}`, service)) {
    return unknownError("asked to come back", { status: 429, headers: { "Retry-After": "1" } });
  }
  if (faults.has("no-credits")) return refusal("my_credits.no_credits_description");
  if (!service.accounts.covers(account, credits)) return tooFewCredits(credits);
  return faults.has("500") ? unknownError("asked for", { status: 500 }) : null;
}

/** Time after a 429 in which a repeated submit passes. */
const RETRY_WINDOW_MS = 60_000;

/** Whether a submit is the first of its prompt, or the first after one that passed. */
function isFirstAttempt(submit: string, { refusedAt, clock }: SandboxService): boolean {
  const isRetry = clock.now() - (refusedAt.get(submit) ?? 0) <= RETRY_WINDOW_MS;
  if (isRetry) refusedAt.delete(submit);
  else refusedAt.set(submit, clock.now());
  return !isRetry;
}

/** Writes the task before charging it, and replies only then: no process end charges a task that does not exist. */
async function charge(
  valid: SandboxRequest,
  directives: Directives,
  account: Account,
  service: SandboxService,
): Promise<ServerReply> {
  const task = toTask(valid, directives, account, service);
  await service.tasks.add(task);
  const balance = service.accounts.charge(account, valid.credits);
  if (balance === null) {
    service.tasks.remove(task.taskId);
    return tooFewCredits(valid.credits);
  }
  if (service.draw === undefined && service.onNotice) {
    const { unknownSubject } = await import("../painter/brief.ts");
    const noun = unknownSubject(directives.prompt);
    if (noun !== null) service.onNotice({ kind: "unknown subject", noun });
  }
  const what = `${task.taskId} ${task.model} ${JSON.stringify(promptExcerpt(valid.prompt))}`;
  const note = `${what}, cost ${valid.credits}, ${balance} left`;
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

/** Identifies reference images without their URLs, which may be signed. */
function fingerprint(references: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(references)).digest("hex");
}

function tooFewCredits(credits: number): ServerReply {
  return refusal("my_credits.no_credits_description", { why: `it costs ${credits}` });
}

/** Limits the log: a prompt has up to 20,000 characters. */
function promptExcerpt(prompt: string): string {
  const maxLength = 100;
  const characters = [...prompt];
  return characters.length > maxLength ? `${characters.slice(0, maxLength).join("")}…` : prompt;
}

/** Directives without a value. */
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
  /** The first unknown directive, which stays in the prompt as at the real service; null for none. */
  unknown: string | null;
}

const DIRECTIVE = /(\[sandbox:[^\]]{0,40}\])/;

/** Reads `[sandbox:…]` anywhere in a prompt and removes it with the spaces around it. The first duration wins. */
export function readDirectives(prompt: string): Directives {
  const pieces = prompt.split(DIRECTIVE).map((text) => ({ text, meaning: parseDirective(text) }));
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
function parseDirective(piece: string): Fault | number | null {
  if (!DIRECTIVE.test(piece)) return null;
  const text = piece.slice("[sandbox:".length, -1);
  if (text.startsWith("slow=")) return parseDuration(text.slice("slow=".length));
  return DIRECTIVES.find((word) => word === text) ?? null;
}
