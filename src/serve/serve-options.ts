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
  /** Name of the server in the ledger's tasks. It consists of lower-case letters and digits. */
  name: string;
  connection: GeneratorConnection;
  ledger: Ledger;
  concurrency: number;
  isFree: boolean;
  fieldTerms: FieldTerms & Pick<GeneratorTerms, "findProblem">;
  /** Model of requests without a model, or null for the generator's default model. */
  defaultModel: string | null;
  /** Returns the generator's models, or null if the generator has no list. Rejects if the list cannot be read. */
  models: () => Promise<readonly string[] | null>;
  /** Model of a generator without a list of models, or null if every request needs a model. */
  ownModel: OwnModel | null;
  /** Models that have rules. Requests for other models are not checked. */
  matrix: Matrix;
  clock: Clock;
  random: () => number;
  dailyCredits: number | null;
  graceMs: number;
  /**
   * Time in which equal requests without an Idempotency-Key count as one call.
   * null: a request belongs to an earlier call only if the client marks the request as a retry.
   */
  onceMs: number | null;
  /** Interval between spaces before a JSON reply, in ms. null: no spaces, so that an error has an HTTP status. */
  keepAliveMs: number | null;
  /** Default: 0, which means any unused port. */
  port?: number;
  onEvent?: ((event: ServeEvent) => void) | undefined;
  onRequest?: ((line: RequestLine) => void) | undefined;
}

export type ServeEvent =
  /**
   * `ms`: duration of the task. `waitedMs`: the part of this duration in the queue. `waiting`: number of unfinished
   * tasks of this process.
   */
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
  /** A single slot if there is a daily limit, so that two requests cannot exceed the limit together. */
  limited: Slots;
  /** The only key that the server accepts, so that other local users and web pages cannot run tasks. */
  apiKey: string;
  secret: string;
}

/** Whether a key is the server's key. Earlier releases printed the key with the prefix `sk-`. */
export function isOwnKey(key: string, { apiKey }: Pick<Service, "apiKey">): boolean {
  return isSameText(key.replace(/^sk-(?!serve-)/, SERVER_KEY_PREFIX), apiKey);
}
