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

/** Options for starting a server. */
export interface ServeOptions {
  /** Keeps the images and the key of this generator. Made if missing. */
  folder: string;
  /** Marks its tasks in the ledger: lower-case letters and digits. */
  name: string;
  connection: GeneratorConnection;
  ledger: Ledger;
  /** Maximum number of requests in flight at the generator. */
  concurrency: number;
  /** Whether its images cost nothing. */
  isFree: boolean;
  /** The names and defaults of fields that only a generator has. */
  fieldTerms: FieldTerms & Pick<GeneratorTerms, "findProblem">;
  /** Model of requests that name none; null: the generator's own. */
  defaultModel: string | null;
  /** The names of its models; null if it has no list. Rejects if it cannot be asked. */
  models: () => Promise<readonly string[] | null>;
  /** Its own model, if it lists none; null: each request must name a model. */
  ownModel: OwnModel | null;
  /** The models that have rules; any other is passed on as it is. */
  matrix: Matrix;
  clock: Clock;
  random: () => number;
  dailyCredits: number | null;
  /** Grace period for replies to requests in flight when it is closed, in milliseconds. */
  graceMs: number;
  /** Time in which equal requests without an Idempotency-Key are one, in milliseconds; null: only a client's own retries are. */
  onceMs: number | null;
  /** Interval between white space before JSON, in milliseconds; null: none, so that the status is true. */
  keepAliveMs: number | null;
  /** Default 0: any that is free. */
  port?: number;
  onEvent?: ((event: ServeEvent) => void) | undefined;
  /** Called for every request after its reply was sent. */
  onRequest?: ((line: RequestLine) => void) | undefined;
}

/** An event of a server's tasks. */
export type ServeEvent =
  /** `ms`: since its arrival, of which it waited `waitedMs`. `waiting`: tasks that this process still has before it. */
  | { kind: "ended"; taskId: string; task: Task; end: TaskEnd; ms: number; waitedMs: number; waiting: number }
  /** A task cannot go on in this process. */
  | { kind: "dropped"; taskId: string; why: string }
  /** Nothing is sent for a while. */
  | { kind: "paused"; detail: string };

/** Shared by the parts of a server. */
export interface Service extends ServeOptions {
  runner: Runner;
  gate: Gate;
  calls: Calls;
  clients: Clients;
  modelList: ModelList;
  collected: CollectedImages;
  /** One request at a time is checked against the daily limit and begun, so that no two pass it together. */
  limited: Slots;
  /** The only key that is accepted: no other local user, and no web page, has tasks run. */
  apiKey: string;
  /** Signs result URLs. */
  secret: string;
}

/** Whether a key is the server's. Earlier releases printed it as `sk-…`, and clients have it so. */
export function isOwnKey(key: string, { apiKey }: Pick<Service, "apiKey">): boolean {
  return isSameText(key.replace(/^sk-(?!serve-)/, SERVER_KEY_PREFIX), apiKey);
}
