import { createHash } from "node:crypto";
import type { ServiceRequest } from "../server/http.ts";
import { readJson } from "../server/json-body.ts";
import { refusal, type ServerReply, success, unknownError } from "../server/reply.ts";
import { newTaskId } from "../task/task-id.ts";
import { type Directives, readDirectives } from "./directives.ts";
import { readRequest, type SandboxRequest } from "./sandbox-request.ts";
import type { Account } from "./state/accounts.ts";
import type { SandboxService } from "./state/state.ts";
import type { Task } from "./state/tasks.ts";

/** Section 2.2: models with this prefix need a subscription. */
const SUBSCRIPTION_MODELS = "gamma-image-2-5-";

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
  if (directives.unknown !== null) service.onUnknownDirective?.(directives.unknown);
  return (
    (await refusedFor(valid, directives, account, service)) ?? charge(valid, directives, account, service)
  );
}

/** Reasons to refuse a valid request: subscription, rate limit, balance, and injected faults. */
async function refusedFor(
  { model, prompt, credits }: SandboxRequest,
  { faults }: Directives,
  account: Account,
  service: SandboxService,
): Promise<ServerReply | null> {
  const needsSubscription = model.id.startsWith(SUBSCRIPTION_MODELS);
  if (faults.has("subscription") || (needsSubscription && !account.hasSubscription)) {
    return refusal("SUBSCRIPTION_REQUIRED", { status: 403 });
  }
  if (faults.has("429") && (await service.throttle.refuses(account.id, prompt))) {
    return unknownError("asked to come back", { status: 429, headers: { "Retry-After": "1" } });
  }
  if (faults.has("no-credits")) return refusal("my_credits.no_credits_description");
  if (!(await canPay(account, credits, service))) return tooFewCredits(credits);
  return faults.has("500") ? unknownError("asked for", { status: 500 }) : null;
}

/** Whether an account's balance covers so many credits, refilled where this sandbox does that. */
async function canPay(
  account: Account,
  credits: number,
  { accounts, onRefill }: SandboxService,
): Promise<boolean> {
  if ((await account.book.balance()) >= credits) return true;
  if (onRefill === undefined) return false;
  const refilled = await accounts.refill(account, credits);
  if (refilled !== null) onRefill(refilled);
  return (await account.book.balance()) >= credits;
}

/** Charges an account. Of requests at once, others may have spent since what there was for this one. */
async function pay(
  credits: number,
  taskId: string,
  account: Account,
  service: SandboxService,
): Promise<number | null> {
  const left = await account.book.charge(credits, taskId);
  if (left !== null || !(await canPay(account, credits, service))) return left;
  return account.book.charge(credits, taskId);
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
  const left = await pay(valid.credits, task.taskId, account, service);
  if (left === null) {
    service.tasks.remove(task.taskId);
    return tooFewCredits(valid.credits);
  }
  if (service.draw === undefined && service.onUnknownSubject) {
    const { unknownSubject } = await import("../painter/brief.ts");
    const unknown = unknownSubject(directives.prompt);
    if (unknown !== null) service.onUnknownSubject(unknown);
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
