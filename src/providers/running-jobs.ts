import type { Clock } from "../lib/clock.ts";
import type { WaitHow } from "./provider.ts";

/** How often a running job is polled while another one waits for its place, in milliseconds. */
const EVERY_MS = 1_000;

/** The jobs of this process at a service that lets only so many run at once. */
export class RunningJobs {
  readonly #most: number;
  readonly #host: string;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #running = new Set<string>();
  #places = 0;

  constructor(most: number, host: string, clock: Pick<Clock, "sleep">) {
    this.#most = most;
    this.#host = host;
    this.#clock = clock;
  }

  /**
   * Waits until there is a place for one more job, and takes it. Meanwhile running jobs are polled in turn.
   * @param isRunning polls a job @returns gives the place back @throws the signal's reason
   */
  async place(isRunning: (id: string) => Promise<boolean>, { signal, onWait }: WaitHow): Promise<() => void> {
    let told = 0;
    for (;;) {
      const ahead = this.#running.size + this.#places;
      if (ahead < this.#most) break;
      if (ahead !== told) onWait({ ahead, holder: `one of ${ahead} jobs at ${this.#host} to end` });
      told = ahead;
      await this.#clock.sleep(EVERY_MS, signal);
      const [oldest] = this.#running;
      if (oldest === undefined) continue;
      const runs = await isRunning(oldest);
      this.#running.delete(oldest);
      if (runs) this.#running.add(oldest);
    }
    this.#places += 1;
    return () => {
      this.#places -= 1;
    };
  }

  /** The service has the job: it has a place of its own until it ends. */
  began(id: string): void {
    this.#running.add(id);
  }

  ended(id: string): void {
    this.#running.delete(id);
  }
}
