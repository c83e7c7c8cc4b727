import type { GeneratorConnection } from "../core/engine/deps.ts";
import type { Runner } from "../core/engine/runner.ts";
import type { Gate } from "../core/limits/gate.ts";
import type { Clock } from "../lib/clock.ts";
import type { Slots } from "../lib/concurrency.ts";
import { SERVER_KEY_PREFIX } from "../lib/redact.ts";
import type { GeneratorTerms } from "../models/check-request.ts";
import type { Matrix } from "../models/matrix.ts";
import type { FieldTerms } from "../models/rules/fields.ts";
import type { RequestLine } from "../server/http.ts";
import { isSameText } from "../server/links.ts";
import type { Ledger } from "../store/ledger.ts";
import type { Task } from "../task/task.ts";
import type { Calls } from "./call-records.ts";
import type { Clients } from "./clients.ts";
import type { TaskEnd } from "./end.ts";
import type { CollectedImages } from "./kept-images.ts";
import type { ModelList, OwnModel } from "./model-list.ts";

export interface ServeOptions {
  folder: string;
  /** Marks the server's tasks in the ledger: lower-case letters and digits. */
  name: string;
  connection: GeneratorConnection;
  ledger: Ledger;
  concurrency: number;
  isFree: boolean;
  fieldTerms: FieldTerms & Pick<GeneratorTerms, "findProblem">;
  /** Model of requests that name none; null for the generator's default. */
  defaultModel: string | null;
  /** Returns the generator's models; null if it has no list. Rejects if the list cannot be read. */
  models: () => Promise<readonly string[] | null>;
  /** Model of a generator without a list; null if each request must name a model. */
  ownModel: OwnModel | null;
  /** The models that have rules. Requests for other models are not checked. */
  matrix: Matrix;
  clock: Clock;
  random: () => number;
  dailyCredits: number | null;
  graceMs: number;
  /** Time in which equal requests without an Idempotency-Key are one call; null: only a client's retries. */
  onceMs: number | null;
  /** Interval between spaces before a JSON reply; null: none, so that the HTTP status is the result's. */
  keepAliveMs: number | null;
  /** Default: 0, any unused port. */
  port?: number;
  onEvent?: ((event: ServeEvent) => void) | undefined;
  onRequest?: ((line: RequestLine) => void) | undefined;
}

export type ServeEvent =
  /** `ms`: duration, including `waitedMs` in the queue. `waiting`: number of this process's unfinished tasks. */
  | { kind: "ended"; taskId: string; task: Task; end: TaskEnd; ms: number; waitedMs: number; waiting: number }
  | { kind: "dropped"; taskId: string; why: string }
  | { kind: "paused"; detail: string };

export interface Service extends ServeOptions {
  runner: Runner;
  gate: Gate;
  calls: Calls;
  clients: Clients;
  modelList: ModelList;
  collected: CollectedImages;
  /** Serialises the check of the daily limit with the begin of a task, so that two requests cannot exceed it. */
  limited: Slots;
  /** The only accepted key, so that neither other local users nor web pages can run tasks. */
  apiKey: string;
  secret: string;
}

/** Whether a key is this server's. Clients may still have it as `sk-…`, as earlier releases printed it. */
export function isOwnKey(key: string, { apiKey }: Pick<Service, "apiKey">): boolean {
  return isSameText(key.replace(/^sk-(?!serve-)/, SERVER_KEY_PREFIX), apiKey);
}
