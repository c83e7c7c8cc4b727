import type { HttpClient } from "../api/client.ts";
import type { ImageService } from "../api/service.ts";
import type { Clock } from "../lib/clock.ts";
import type { Ledger } from "../store/ledger.ts";
import type { ServiceIdentity } from "../task/intent.ts";
import type { RunFileNames } from "./images/published-names.ts";
import type { PollingSchedules } from "./polling/schedules.ts";
import type { OnTaskProgress } from "./task/progress-events.ts";

/** An account at a service, connected. */
export interface Connection {
  identity: ServiceIdentity;
  service: ImageService;
  /** For result URLs: never carries the key, and may refuse private addresses. */
  downloads: HttpClient;
  /** The service's address as it really is, for judging result URLs. */
  serviceUrl: URL;
  /** How long its tasks take, in milliseconds, where the program knows that beforehand. */
  taskMs?: number | undefined;
  /** Hides the account's API key in a text that came from elsewhere. */
  maskKey: (text: string) => string;
}

/** What buying, awaiting and saving need from the world. */
export interface TaskDeps {
  connection: Connection;
  ledger: Ledger;
  schedules: PollingSchedules;
  /** The names that this run's images have under --overwrite. */
  published: RunFileNames;
  clock: Clock;
  /** Aborts with an InterruptedError as its reason. */
  signal: AbortSignal;
  onProgress: OnTaskProgress;
  /** Mode of saved files, the umask applied. */
  fileMode: number;
  /** Where `-o -` puts the image's bytes. Rejects where they could not all be written. */
  writeOut: (bytes: AsyncIterable<Buffer>) => Promise<void>;
  /** Uniform in [0, 1). */
  random: () => number;
  /** What the account may spend in a day, in credits; null without a limit. */
  dailyCredits: number | null;
  /** No byte of a download for this long ends an attempt. Default 30 s. */
  downloadIdleMs?: number | undefined;
}
