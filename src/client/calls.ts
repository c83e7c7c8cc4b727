import type { OnTaskProgress, TaskProgressEvent } from "../core/engine/events.ts";
import { errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { InterruptedError } from "../lib/interrupted.ts";
import type { Words } from "../lib/wording.ts";
import { imggenFailureOf } from "./report-json.ts";

/** The calls of a client that are under way: each stops with its caller's signal, and all with the client. */
export class Calls {
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #words: Words;

  /** @param words the words of failures */
  constructor(words: Words) {
    this.#words = words;
  }

  /**
   * Runs a call.
   * @param stops signals that abort it
   * @throws ImggenFailure for every error; nothing is sent if the client is closed or a signal has aborted already
   */
  async run<Result>(
    stops: readonly (AbortSignal | undefined)[],
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const controller = new AbortController();
    // Of its own for each call: a signal that many calls share must not gather listeners.
    const anyStop = AbortSignal.any([this.#closing.signal, ...stops.filter((stop) => stop !== undefined)]);
    const abort = () => controller.abort(new InterruptedError(null));
    anyStop.addEventListener("abort", abort);
    const call = (async () => {
      if (this.#closing.signal.aborted) throw new UsageError("The client is closed.", { hint: CLOSED });
      if (anyStop.aborted) throw new InterruptedError(null, { hint: "Nothing was sent." });
      return work(controller.signal);
    })();
    this.#running.add(call);
    try {
      return await call;
    } catch (error) {
      throw imggenFailureOf(error, this.#words);
    } finally {
      this.#running.delete(call);
      anyStop.removeEventListener("abort", abort);
    }
  }

  /** Aborts every call, and waits until all have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }
}

const CLOSED = "Nothing was sent. Make another one with createClient.";

/** A caller's listener. What it throws or rejects with ends nothing: what it is told of may be charged by then. */
export function listening(listener: OnTaskProgress = () => {}) {
  let warning: string | null = null;
  let isSaid = false;
  const failed = (error: unknown) => {
    warning ??= `onProgress failed: ${errorText(error)}. The call continued.`;
  };
  return {
    onProgress(event: TaskProgressEvent): void {
      // It may be an async function.
      new Promise((end) => end(listener(event))).catch(failed);
    },
    /** A result with a warning of the first failure, unless an earlier result has it. */
    noted<Result extends { warnings: readonly string[] }>(result: Result): Result {
      if (warning === null || isSaid) return result;
      isSaid = true;
      return { ...result, warnings: [...result.warnings, warning] };
    },
  };
}
