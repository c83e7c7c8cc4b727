import type { OnTaskProgress, TaskProgressEvent } from "../core/task/progress-events.ts";
import { errorText } from "../lib/error-text.ts";

/** A caller's listener. What it throws or rejects with ends nothing: what it is told of may be charged by then. */
export class Listener {
  readonly #listener: OnTaskProgress;
  #warning: string | null = null;
  #isSaid = false;

  constructor(listener: OnTaskProgress = () => {}) {
    this.#listener = listener;
  }

  readonly onProgress = (event: TaskProgressEvent): void => {
    try {
      const answer: unknown = this.#listener(event);
      // It may be an async function.
      Promise.resolve(answer).catch(this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  };

  readonly #failed = (error: unknown) => {
    this.#warning ??= `onProgress failed: ${errorText(error)}. The call went on.`;
  };

  /** A result with a warning of the first failure, unless an earlier result has it. */
  readonly noted = <Result extends { warnings: readonly string[] }>(result: Result): Result => {
    if (this.#warning === null || this.#isSaid) return result;
    this.#isSaid = true;
    return { ...result, warnings: [...result.warnings, this.#warning] };
  };
}
