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

/** Prefix of the models that need a subscription (section 2.2). */
const SUBSCRIPTION_MODELS = "gamma-image-2-5-";

/** A request in which missing fields have their defaults. */
interface SandboxRequest {
  prompt: string;
  model: Model;
  references: readonly string[];
  ratio: string;
  quality: string | undefined;
  imageCount: number;
  credits: number;
}

/** Cost of a request without a documented price. The real service might charge more. */
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

/** POST /generate-image (section 4.1), after the check of the key. */
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
    return unknownError("injected fault", { status: 429, headers: { "Retry-After": "1" } });
  }
  if (faults.has("no-credits")) return refusal("my_credits.no_credits_description");
  if (!service.accounts.covers(account, credits)) return insufficientCreditsReply(credits);
  return faults.has("500") ? unknownError("injected fault", { status: 500 }) : null;
}

/** Time after a 429 reply within which the same submit succeeds, in milliseconds. */
const RETRY_WINDOW_MS = 60_000;

function isFirstAttempt(submit: string, { refusedAt, clock }: SandboxService): boolean {
  const isRetry = clock.now() - (refusedAt.get(submit) ?? 0) <= RETRY_WINDOW_MS;
  if (isRetry) refusedAt.delete(submit);
  else refusedAt.set(submit, clock.now());
  return !isRetry;
}

/** Writes the task before the charge, so that a crash cannot charge for a task that does not exist. */
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
    return insufficientCreditsReply(valid.credits);
  }
  if (service.draw === undefined && service.onNotice) {
    const { unknownSubject } = await import("../painter/brief.ts");
    const noun = unknownSubject(directives.prompt);
    if (noun !== null) service.onNotice({ kind: "unknown subject", noun });
  }
  const summary = `${task.taskId} ${task.model} ${JSON.stringify(promptExcerpt(valid.prompt))}`;
  const note = `${summary}, cost ${valid.credits}, ${balance} left`;
  if (directives.faults.has("drop")) return { kind: "silence", note: `${note}, reply dropped` };
  const warning = directives.unknown !== null ? ", with an unknown directive in its prompt" : "";
  return success({ taskId: task.taskId }, note + warning);
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

function fingerprint(references: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(references)).digest("hex");
}

function insufficientCreditsReply(credits: number): ServerReply {
  return refusal("my_credits.no_credits_description", { why: `the request costs ${credits} credits` });
}

function promptExcerpt(prompt: string): string {
  const maxLength = 100;
  const characters = [...prompt];
  return characters.length > maxLength ? `${characters.slice(0, maxLength).join("")}…` : prompt;
}

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
  slowMs: number | null;
  prompt: string;
  /** The first unknown directive, or null. Unknown directives stay in the prompt, as they do at the real service. */
  unknown: string | null;
}

const DIRECTIVE = /(\[sandbox:[^\]]{0,40}\])/;

/** Reads each `[sandbox:…]` in a prompt, and removes it with the spaces around it. Only the first duration counts. */
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

/** Returns the injected fault, or the duration in milliseconds; null for plain text. */
function parseDirective(piece: string): Fault | number | null {
  if (!DIRECTIVE.test(piece)) return null;
  const text = piece.slice("[sandbox:".length, -1);
  if (text.startsWith("slow=")) return parseDuration(text.slice("slow=".length));
  return DIRECTIVES.find((word) => word === text) ?? null;
}
