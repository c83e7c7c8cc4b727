import type { HttpClient } from "../../api/http-client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Provider } from "../../providers/provider.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { Intent, IntentTerms, RequestIdentity, ServiceIdentity } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { RunFileNames } from "../images/published-names.ts";
import type { Cap } from "../limits/caps.ts";
import type { Gate } from "../limits/gate.ts";
import type { Queue } from "../limits/turns.ts";
import type { PollingSchedules } from "../polling/choose-schedule.ts";
import type { OnTaskProgress } from "./events.ts";
import type { StoppableJobs } from "./stoppable-jobs.ts";

export interface Connection {
  identity: ServiceIdentity;
  provider: Provider;
  /** HTTP client for result URLs. Never sends the API key, and can refuse private addresses. */
  downloads: HttpClient;
  /** The provider's actual address, which decides which result URLs are allowed. */
  serviceUrl: URL;
  /** Advice on adding credits to the account; null or absent if unknown. */
  topUpHint?: string | null | undefined;
  /** Duration of tasks in milliseconds if known in advance (embedded sandbox). */
  taskMs?: number | undefined;
  generator?: GeneratorFacts | undefined;
  /** Masks the account's API key in text from the provider. */
  maskKey: (text: string) => string;
  /** Masks secrets of requests in a result URL for output and records. A masked URL cannot be downloaded. */
  maskUrl: (url: string) => string;
  termsFor(request: GenerationRequest): IntentTerms;
}

export interface GeneratorFacts {
  /** Name in the form that --generator accepts. */
  name: string;
  /** Loads facts that `termsFor` and the provider's `check` need; absent if none are needed. @throws ImggenError */
  prepare?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** `name@version` of the package that makes the images; absent if the provider is not a package. */
  package?: string | undefined;
  /** Queue for the requests of all processes; null if the number of requests in flight is not limited. */
  queue: Queue | null;
}

export type GeneratorConnection = Connection & { generator: GeneratorFacts };

/** Whether a provider replies with an id at once and applies its own timeout. Others reply with the image later. */
export function answersWithId({ images }: Provider): boolean {
  return images === undefined;
}

export function providerName({ generator }: Pick<Connection, "generator">): string {
  return generator?.name ?? "its provider";
}

export interface UseCaseDeps {
  ledger: Ledger;
  clock: Clock;
  /** Aborts with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** Returns the dependencies for the current account. */
  current: () => Promise<TaskDeps>;
  /** Returns the dependencies for the task's account. @throws OtherAccountError, MissingProviderError */
  depsFor: (intent: Pick<Intent, "service" | "taskId">, taskId: string) => Promise<TaskDeps>;
}

export function singleAccountDeps(deps: TaskDeps): UseCaseDeps {
  const { ledger, clock, signal } = deps;
  return { ledger, clock, signal, current: async () => deps, depsFor: async () => deps };
}

export function requestIdentity(
  request: GenerationRequest,
  { identity, termsFor }: Pick<Connection, "identity" | "termsFor">,
): RequestIdentity {
  return { request, service: identity, ...termsFor(request) };
}

export interface TaskDeps {
  connection: Connection;
  ledger: Ledger;
  schedules: PollingSchedules;
  published: RunFileNames;
  clock: Clock;
  signal: AbortSignal;
  onProgress: OnTaskProgress;
  /** Called with unchecked preview frames; absent if no preview frames are needed. */
  onPreview?: ((image: Buffer) => void) | undefined;
  /** File mode of saved files, after the umask. */
  fileMode: number;
  /** Writes the image's bytes to standard output, for `-o -`. Rejects if not all bytes could be written. */
  writeOut: (bytes: AsyncIterable<Buffer>) => Promise<void>;
  /** Returns a uniform random number in [0, 1). */
  random: () => number;
  /** Daily limit of the account, in credits; null for none. */
  dailyCredits: number | null;
  /** Idle timeout of a download attempt, in milliseconds. Default 30 s. */
  downloadIdleMs?: number | undefined;
  /** Decides when requests can be submitted and polled. All tasks of a run at one account share one gate. */
  gate: Gate;
  /** Maximum number of attempts that fail before they are sent; default 4. Infinity if the gate alone decides. */
  maxUnsent?: number | undefined;
  /** Limits that are checked before each submit of a paid request. */
  caps: readonly Cap[];
  /** Whether to continue tasks that were submitted with another API key, for example after the key was replaced. */
  acceptsOtherKey?: boolean | undefined;
  /** Free jobs that a second signal cancels. */
  stoppable?: StoppableJobs | undefined;
  /** Absent for a command, whose task ends with the run. */
  keeping?: ServerTaskOptions | undefined;
}

/** Options of a server. Its tasks do not end if their requests cannot be sent. */
export interface ServerTaskOptions {
  /** Grace period after a signal for requests in flight, in milliseconds. */
  graceMs: number;
  /** Aborted while requests of the task must not be submitted. Requests that were submitted before still finish. */
  pause: AbortSignal;
}
