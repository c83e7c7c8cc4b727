import { describeConnectionError, isUntrusted } from "../../api/connection-errors.ts";
import { InsufficientCreditsError, NetworkError, OutcomeUnknownError } from "../../api/errors.ts";
import { taskIdIn } from "../../providers/service/excerpt.ts";
import { backoffMs, SUBMIT_NOT_SENT, SUBMIT_RATE_LIMITED } from "../../api/retry.ts";
import type { SubmitReply } from "../../providers/service/http-service.ts";
import { TransportError } from "../../api/transport.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { TaskDeps } from "../deps.ts";
import { interruptedError } from "../errors.ts";
import { pause } from "../polling/wait.ts";
import type { TaskWriter } from "./task-writer.ts";

/** How a submit ended, retries included. */
export type SubmitResult =
  | { outcome: "accepted"; taskId: string }
  | { outcome: "refused" | "not_sent"; error: ImggenError }
  /** `excerpt` is the beginning of a reply that could not be used. */
  | { outcome: "unknown"; error: ImggenError; excerpt: string | null };

/** After a signal, how long to wait for the reply to a running submit. */
const GRACE_MS = 10_000;

const BUSY = "The service is busy (HTTP 429).";

interface SubmitDeps extends Pick<TaskDeps, "connection" | "clock" | "signal" | "onProgress" | "random"> {
  /** Called each time that the request has been sent, and its reply is awaited. */
  onSent?: (() => void) | undefined;
}

/**
 * Submits a request, which is accepted at most once. It is submitted again only if it certainly never left this machine,
 * or was refused with 429. Never throws.
 * @param patienceMs how long, all in all, the service may ask to wait with Retry-After
 * @param writer records each attempt before it is sent, and each wait before it begins
 */
export async function submitOnce(
  request: GenerationRequest,
  patienceMs: number,
  writer: Pick<TaskWriter, "id" | "beginAttempt" | "rateLimited">,
  deps: SubmitDeps,
): Promise<SubmitResult> {
  let notSent = 0;
  let rateLimited = 0;
  let giveUpAtMs: number | null = null;
  const { service } = deps.connection;
  for (;;) {
    if (deps.signal.aborted) return { outcome: "not_sent", error: interruptedError(deps.signal, "no") };
    const noTurn = await service.turn?.(deps.signal);
    const refusal = noTurn ? null : await writer.beginAttempt(service.submitTimeoutMs);
    if (refusal) return { outcome: "not_sent", error: refusal };
    // The signal may have come while its turn, or the disk, was waited for.
    if (deps.signal.aborted) continue;
    if (!noTurn) deps.onProgress({ type: "submitting" });
    const reply = noTurn ?? (await submitWithGrace(request, writer.id, deps));
    if (reply.outcome === "not_sent") {
      if (deps.signal.aborted) return { outcome: "not_sent", error: interruptedError(deps.signal, "no") };
      notSent += 1;
      const error = unreachable(reply, deps);
      if (notSent >= SUBMIT_NOT_SENT.attempts || isUntrusted(reply.cause))
        return { outcome: "not_sent", error };
      await retryPause(backoffMs(SUBMIT_NOT_SENT, notSent, null, deps.random), error.message, deps);
    } else if (reply.outcome === "rate_limited") {
      rateLimited += 1;
      const now = deps.clock.monotonicMs();
      giveUpAtMs ??= now + patienceMs;
      const leftMs = giveUpAtMs - now;
      const tooLong = (reply.retryAfterMs ?? 0) > leftMs;
      if (rateLimited >= SUBMIT_RATE_LIMITED.attempts || tooLong) {
        return { outcome: "refused", error: reply.error };
      }
      const delayMs = backoffMs(SUBMIT_RATE_LIMITED, rateLimited, reply.retryAfterMs, deps.random);
      // Before the wait: a process killed during it has only sent what the service refused.
      await writer.rateLimited(BUSY, Math.max(delayMs, leftMs));
      await retryPause(delayMs, BUSY, deps);
    } else {
      return conclude(reply, deps);
    }
  }
}

function conclude(
  reply: Exclude<SubmitReply, { outcome: "not_sent" | "rate_limited" }>,
  { signal, connection }: Pick<SubmitDeps, "signal" | "connection">,
): SubmitResult {
  if (reply.outcome === "refused") return { ...reply, error: withTopUp(reply.error, connection.topUpHint) };
  if (reply.outcome !== "unknown") return reply;
  const { excerpt } = reply;
  if (signal.aborted) return { outcome: "unknown", error: interruptedError(signal, "unknown"), excerpt };
  const error = new OutcomeUnknownError(
    `The request was sent, but whether it was accepted is not known: ${reply.why}.`,
    { cause: reply.cause, mentionedTaskId: taskIdIn(excerpt) },
  );
  return { outcome: "unknown", error, excerpt };
}

/** Adds a hint on how to add credits, if that is known. */
function withTopUp(error: ImggenError, hint: string | null | undefined): ImggenError {
  if (!hint || !(error instanceof InsufficientCreditsError)) return error;
  return new InsufficientCreditsError(error.message, {
    hint,
    key: error.key ?? undefined,
    charged: error.charged,
    cause: error,
  });
}

/** One submit. Once it has left, a signal does not cut it off at once: its id may be on the way. */
async function submitWithGrace(
  request: GenerationRequest,
  id: string,
  deps: SubmitDeps,
): Promise<SubmitReply> {
  const cutOff = new AbortController();
  let sent = false;
  let stopWaiting = () => {};
  const onAbort = () => {
    if (!sent) return cutOff.abort(deps.signal.reason);
    const over = new AbortController();
    stopWaiting = () => over.abort();
    deps.onProgress({ type: "submit_interrupted", waitMs: GRACE_MS });
    deps.clock.sleep(GRACE_MS, over.signal).then(
      () => cutOff.abort(deps.signal.reason),
      () => {},
    );
  };
  deps.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const onSent = () => {
      sent = true;
      deps.onSent?.();
    };
    return await deps.connection.service.submit(request, cutOff.signal, onSent, id);
  } catch (error) {
    // A bug after the request was sent: it may have been charged.
    if (sent)
      return {
        outcome: "unknown",
        why: error instanceof Error ? error.message : String(error),
        excerpt: null,
        cause: error,
      };
    return { outcome: "not_sent", cause: new TransportError(String(error), { sent: false, cause: error }) };
  } finally {
    stopWaiting();
    deps.signal.removeEventListener("abort", onAbort);
  }
}

function unreachable(reply: Extract<SubmitReply, { outcome: "not_sent" }>, deps: SubmitDeps): NetworkError {
  const { message, hint } = describeConnectionError(reply.cause, deps.connection.serviceUrl);
  return new NetworkError(message, { hint, cause: reply.cause });
}

/** A signal ends it early, which the loop sees itself. */
async function retryPause(delayMs: number, why: string, deps: SubmitDeps): Promise<void> {
  deps.onProgress({ type: "submit_retry", why, delayMs });
  await pause(delayMs, deps);
}
