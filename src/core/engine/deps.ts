import type { HttpClient } from "../../api/http-client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Provider } from "../../providers/provider.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { Intent, IntentTerms, RequestIdentity, ServiceIdentity } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { RunFileNames } from "../images/published-names.ts";
import type { Cap } from "../limits/caps.ts";
import type { Gate } from "../limits/gate.ts";
import type { Line } from "../limits/turns.ts";
import type { PollingSchedules } from "../polling/choose-schedule.ts";
import type { OnTaskProgress } from "./events.ts";
import type { StoppableJobs } from "./stoppable-jobs.ts";

/** A connection to one account at a provider. */
export interface Connection {
  identity: ServiceIdentity;
  provider: Provider;
  /** For result URLs: never carries the key, and may refuse private addresses. */
  downloads: HttpClient;
  /** The provider's actual address, which decides which result URLs are allowed. */
  serviceUrl: URL;
  /** Address for adding credits to the account; null or absent if unknown. */
  topUpHint?: string | null | undefined;
  /** Duration of its tasks in milliseconds, if known in advance (the embedded sandbox). */
  taskMs?: number | undefined;
  /** Facts about the user's generator; absent at the hosted service. */
  generator?: GeneratorFacts | undefined;
  /** Masks the account's API key in text from the provider. */
  maskKey: (text: string) => string;
  /** Masks every secret that requests carry in a result URL, for whatever shows or records it. Not for its download. */
  maskUrl: (url: string) => string;
  /** The terms of a new task here. */
  termsFor(request: GenerationRequest): IntentTerms;
}

/** The user's own generator, as it is set up in this process. */
export interface GeneratorFacts {
  /** As it can be given again. */
  name: string;
  /** Finds out what the connection's `termsFor` and the provider's `check` go by. Absent: they go by the settings alone. @throws ImggenError */
  prepare?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** `name@version` of the package that makes the images, if one does. */
  package?: string | undefined;
  /** The queue of its requests, over all processes; null if any number may be in flight. */
  line: Line | null;
}

/** A connection to the user's own generator. */
export type GeneratorConnection = Connection & { generator: GeneratorFacts };

/**
 * Whether a provider answers a submit with an id at once, under a time limit of its own. The reply of any other may be the
 * image: it takes as long as that, and is kept in a folder.
 */
export function answersWithId({ images }: Provider): boolean {
  return images === undefined;
}

/** A connection's provider, for people. */
export function providerName({ generator }: Pick<Connection, "generator">): string {
  return generator?.name ?? "its provider";
}

/** Dependencies of a use case: the ledger, and those of the tasks of each account. */
export interface UseCaseDeps {
  ledger: Ledger;
  clock: Clock;
  /** Aborts with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** For the current account. */
  current: () => Promise<TaskDeps>;
  /** For a task's own account. @throws OtherAccountError, MissingProviderError */
  depsFor: (intent: Pick<Intent, "service" | "taskId">, taskId: string) => Promise<TaskDeps>;
}

/** Dependencies of use cases whose tasks are all of one account. */
export function ofOneAccount(deps: TaskDeps): UseCaseDeps {
  const { ledger, clock, signal } = deps;
  return { ledger, clock, signal, current: async () => deps, depsFor: async () => deps };
}

/** Identity of a request at a connection. */
export function requestIdentity(
  request: GenerationRequest,
  { identity, termsFor }: Pick<Connection, "identity" | "termsFor">,
): RequestIdentity {
  return { request, service: identity, ...termsFor(request) };
}

/** Dependencies of submitting a request, waiting for its task and saving its images. */
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
  /** Called with unchecked previews of a task's image; absent: none is wanted. */
  onPreview?: ((image: Buffer) => void) | undefined;
  /** Mode of saved files, the umask applied. */
  fileMode: number;
  /** Writes the image's bytes to standard output, for `-o -`. Rejects if not all of them could be written. */
  writeOut: (bytes: AsyncIterable<Buffer>) => Promise<void>;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Daily limit of the account, in credits; null for none. */
  dailyCredits: number | null;
  /** No byte of a download for this long ends an attempt. Default 30 s. */
  downloadIdleMs?: number | undefined;
  /** Decides when requests may be submitted and polled: one for all tasks of a run at one account. */
  gate: Gate;
  /** Maximum number of attempts at one request that are not sent; default 4. Of a batch or a server, the gate decides. */
  maxUnsent?: number | undefined;
  /** Asked before each submit of a paid request. */
  caps: readonly Cap[];
  /** Whether tasks are continued with another key than they were submitted with: keys are rotated. */
  acceptsOtherKey?: boolean | undefined;
  /** List of the free jobs that can be stopped, while they are waited for. */
  stoppable?: StoppableJobs | undefined;
  /** Treatment of a task that has not ended when its run ends. Absent: it is this run's alone. */
  keeping?: Keeping | undefined;
}

/** A server keeps its tasks: what keeps one from being sent ends none of them. */
export interface Keeping {
  /** After a signal, time to wait for the reply to a request in flight, in milliseconds. */
  graceMs: number;
  /** Aborts when nothing more of the task is to be submitted for now. What was submitted is finished. */
  pause: AbortSignal;
}
