import type { HttpClient } from "../api/client.ts";
import type { ImageService } from "../providers/service/http-service.ts";
import type { Clock } from "../lib/clock.ts";
import type { Ledger } from "../store/ledger.ts";
import type { ServiceIdentity } from "../task/intent.ts";
import type { RunFileNames } from "./images/published-names.ts";
import type { PollingSchedules } from "./polling/choose-schedule.ts";
import type { OnTaskProgress } from "./task/progress-events.ts";

/** A connection to one account at a service. */
export interface Connection {
  identity: ServiceIdentity;
  service: ImageService;
  /** For result URLs: never carries the key, and may refuse private addresses. */
  downloads: HttpClient;
  /** The service's actual address, which decides which result URLs are allowed. */
  serviceUrl: URL;
  /** How to add credits to the account, where the program knows; else null or absent. */
  topUpHint?: string | null | undefined;
  /** How long its tasks take, in milliseconds, if known in advance (the embedded sandbox). */
  taskMs?: number | undefined;
  /** The queue before the user's own generator; absent where the service is another program's. */
  generator?: OwnQueue | undefined;
  /** Masks the account's API key in text from the service. */
  maskKey: (text: string) => string;
}

/** The queue before the user's own generator, in this process. */
export interface OwnQueue {
  /** Which queue it is: another one once its folder was removed, and made again. */
  id: string;
  /** The generator's name, as it can be given again. */
  name: string;
  isPaid: boolean;
  /** How many of its requests are under way at once. */
  concurrency: number;
  /** How long one image may take, in milliseconds. */
  timeoutMs: number;
  /**
   * Keeps a task that waits in this process from being begun, until it is polled again.
   * @returns whether a request of it may have been sent, by whichever process
   */
  hold(taskId: string): boolean;
  /** The task of a submit, by the ledger's id of its request; null if it has none. @throws if its record is damaged */
  taskOf(requestId: string): Promise<string | null>;
}

/** What a use case depends on: the ledger, and what the tasks of each account need. */
export interface UseCaseDeps {
  ledger: Ledger;
  /** Aborts with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** For the current account. */
  current: () => Promise<TaskDeps>;
  /** For a task's own account. @throws OtherAccountError */
  depsFor: (service: ServiceIdentity, taskId: string) => Promise<TaskDeps>;
}

/** Where every task is of one account. */
export function ofOneAccount(deps: TaskDeps): UseCaseDeps {
  const { ledger, signal } = deps;
  return { ledger, signal, current: async () => deps, depsFor: async () => deps };
}

/** What submitting a request, waiting for its task and saving its images depend on. */
export interface TaskDeps {
  connection: Connection;
  ledger: Ledger;
  schedules: PollingSchedules;
  /** The names that this run's images were given under --overwrite. */
  published: RunFileNames;
  clock: Clock;
  /** Aborts with an InterruptedError as its reason. */
  signal: AbortSignal;
  onProgress: OnTaskProgress;
  /** Mode of saved files, the umask applied. */
  fileMode: number;
  /** Writes the image's bytes to standard output, for `-o -`. Rejects if not all of them could be written. */
  writeOut: (bytes: AsyncIterable<Buffer>) => Promise<void>;
  /** Uniform in [0, 1). */
  random: () => number;
  /** What the account may spend in a day, in credits; null without a limit. */
  dailyCredits: number | null;
  /** No byte of a download for this long ends an attempt. Default 30 s. */
  downloadIdleMs?: number | undefined;
}
