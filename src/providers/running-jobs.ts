import type { Clock } from "../lib/clock.ts";

/** How often a running job is polled while another one waits for its place, in milliseconds. */
const EVERY_MS = 1_000;

/** The jobs of this process at a service that lets only so many run at once. */
export class RunningJobs {
  readonly #most: number;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #running = new Set<string>();
  #sending = 0;

  constructor(most: number, clock: Pick<Clock, "sleep">) {
    this.#most = most;
    this.#clock = clock;
  }

  /**
   * Sends a request once there is a place for its job. Meanwhile running jobs are polled in turn.
   * @param isRunning polls a job @throws what `send` throws, or the signal's reason
   */
  async begin<Accepted extends { taskId: string }>(
    send: () => Promise<Accepted>,
    isRunning: (id: string) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Accepted> {
    while (this.#running.size + this.#sending >= this.#most) {
      await this.#clock.sleep(EVERY_MS, signal);
      const [oldest] = this.#running;
      if (oldest === undefined) continue;
      const runs = await isRunning(oldest);
      this.#running.delete(oldest);
      if (runs) this.#running.add(oldest);
    }
    this.#sending += 1;
    try {
      const accepted = await send();
      this.#running.add(accepted.taskId);
      return accepted;
    } finally {
      this.#sending -= 1;
    }
  }

  ended(id: string): void {
    this.#running.delete(id);
  }
}
