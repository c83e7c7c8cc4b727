import type { Clock } from "../../lib/clock.ts";
import type { Processes } from "../../lib/processes.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { Generator } from "../../providers/generator.ts";
import type { GeneratorOptions, GeneratorSpec } from "../../providers/spec.ts";
import type { RequestLine } from "../http.ts";
import type { AccountKey, SharedPause } from "./pause.ts";
import type { GeneratorSlots } from "./slots.ts";
import type { QueuedTask, QueuedTasks } from "./task-folder.ts";
import type { EndedState } from "./task-state.ts";

/** What a service with a generator is started with. */
export interface GeneratorServiceOptions {
  /** Keeps the tasks of this generator; any number of processes may share it. Made if missing. */
  folder: string;
  spec: Pick<GeneratorSpec, "name">;
  /** `isPaid`: whether this process takes every request for a paid one. */
  options: GeneratorOptions;
  /** Closed with the service. */
  generator: Generator;
  /** The models that have rules; any other is handed on as it is. */
  matrix: Matrix;
  /** Whether this process runs tasks: those it is given, and those of ended processes that it is asked about. */
  runs: boolean;
  /** Whether it runs the tasks of all ended processes, and takes requests of other programs. Default false. */
  adoptsAll?: boolean;
  /** Default 0: any that is free. */
  port?: number;
  clock: Clock;
  processes: Processes;
  onEvent?: (event: ServiceEvent) => void;
  /** Called for every request after its reply was sent. */
  onRequest?: (line: RequestLine) => void;
}

/** What happens in the queue. */
export type ServiceEvent =
  /** `ms`: since it began. `waiting`: tasks that this process still has in its queue. */
  | { kind: "ended"; task: QueuedTask; state: EndedState; ms: number; waiting: number }
  /** A task cannot go on in this process. */
  | { kind: "dropped"; taskId: string; why: string }
  /** Nothing is sent for a while. The key says that the generator refuses the account. */
  | { kind: "paused"; key: AccountKey | null; detail: string };

/** What the parts of a service with a generator share: how it was started, and what is in its folder. */
export interface QueueContext extends GeneratorServiceOptions {
  tasks: QueuedTasks;
  /** The folder of the claims on tasks. */
  claims: string;
  slots: GeneratorSlots;
  pause: SharedPause;
}
