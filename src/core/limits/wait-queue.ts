/** Waiters for a condition, woken in the order in which they came. */
export class WaitQueue {
  #waiting: (() => void)[] = [];

  /** Waits until woken. @throws the signal's reason */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((each) => each !== wake);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(wake);
    });
  }

  wakeOne(): void {
    this.#waiting.shift()?.();
  }

  wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
