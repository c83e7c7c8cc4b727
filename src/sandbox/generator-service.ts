import { readdirSync } from "node:fs";
import path from "node:path";
import type { Generator } from "../generators/generator.ts";
import type { GeneratorOptions, GeneratorSpec } from "../generators/spec.ts";
import { sweepClaims } from "../lib/claim.ts";
import type { Clock } from "../lib/clock.ts";
import { isPresent, makeFolder } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import type { Processes } from "../lib/processes.ts";
import { createWhole } from "../lib/write-whole.ts";
import type { Matrix } from "../models/matrix.ts";
import { CollectedImages, removeOldReferences, serveFile } from "./generator/kept-files.ts";
import { poll } from "./generator/poll.ts";
import type { GeneratorService } from "./generator/service.ts";
import { submit } from "./generator/submit.ts";
import { createListener, type Operations, type RequestLine } from "./http.ts";
import { isSameText, loadSecret } from "./links.ts";
import { listenOnLoopback } from "./listen.ts";
import { Admission } from "./queue/admission.ts";
import { adoptInOrder } from "./queue/adopt.ts";
import { type AccountKey, SharedPause } from "./queue/pause.ts";
import { Queue, type QueueEvent } from "./queue/queue.ts";
import { GeneratorSlots } from "./queue/slots.ts";
import { QueuedTasks } from "./queue/task-folder.ts";
import { WaitQueue } from "./queue/wait-queue.ts";
import { refusal } from "./reply.ts";
import { taskIdFor } from "./task-id.ts";

/** How often to look for tasks whose process is gone, in milliseconds. */
const ADOPT_MS = 2_000;

/** For how much longer than a request may take a slot is respected by other machines. */
const SLOT_MARGIN_MS = 60_000;

export interface GeneratorServiceOptions {
  /** Keeps the tasks of this generator; any number of processes may share it. Made if missing. */
  folder: string;
  spec: Pick<GeneratorSpec, "name">;
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
  | QueueEvent
  /** Nothing is sent for a while. The key says that the generator refuses the account. */
  | { kind: "paused"; key: AccountKey | null; detail: string };

export interface RunningGeneratorService {
  /** `http://127.0.0.1:<port>/api` */
  baseUrl: string;
  apiKey: string;
  port: number;
  /**
   * Keeps a task that waits here from being begun, until it is polled again.
   * @returns whether a request of it may have been sent, by whichever process
   */
  hold(taskId: string): boolean;
  /** The task of a submit that carried an id; null if there is none. @throws if its record is damaged */
  taskOf(requestId: string): Promise<string | null>;
  /**
   * Begins nothing new. Without a grace, in milliseconds, free requests are given up and paid ones are waited for; with
   * one, all are waited for so long, and then given up. Tasks that were not begun stay queued for other processes.
   * @param onWait called with the number of requests that are waited for, if there are any
   */
  close(onWait?: (count: number) => void, graceMs?: number): Promise<void>;
}

/** Where a service keeps private copies of reference images, named by what `file:` URLs in requests say. */
export function referencesFolder(folder: string): string {
  return path.join(folder, "references");
}

/**
 * Serves the image service of the document on loopback, with the user's own generator behind it: a queue whose tasks
 * survive every process, at most one request at a time for each of the generator's slots, and the result as files.
 * @throws the system's error if the port is taken or the folder cannot be used
 */
export async function startGeneratorService(
  options: GeneratorServiceOptions,
): Promise<RunningGeneratorService> {
  const { folder, generator, matrix, runs, adoptsAll = false } = options;
  const { apiKey, secret, queue, ...parts } = await openQueue(options);
  const { server, port, origin, close } = await listenOnLoopback(options.port ?? 0);
  const references = adoptsAll ? null : referencesFolder(folder);
  const service: GeneratorService = {
    ...parts,
    ...requestDeps(options),
    options: options.options,
    apiKey,
    secret,
    queue,
    matrix,
    references,
    runs,
  };
  server.on("request", createListener(operationsOf(service), options.onRequest));
  const stop = new AbortController();
  const adopting = adoptsAll ? adoptAll(service, options.onEvent, stop.signal) : null;
  return {
    baseUrl: `${origin}/api`,
    apiKey,
    port,
    hold: (taskId) => queue.hold(taskId),
    taskOf: async (requestId) => (await parts.tasks.find(taskIdFor(requestId)))?.task.taskId ?? null,
    async close(onWait, graceMs) {
      stop.abort();
      await adopting;
      await queue.close(onWait, graceMs);
      await generator.close();
      await close();
    },
  };
}

function requestDeps({ generator, options, processes, clock }: GeneratorServiceOptions) {
  const { isPaid, timeoutMs } = options;
  return { generator, isPaid, timeoutMs, processes, clock };
}

async function openQueue(options: GeneratorServiceOptions) {
  const { folder, spec, clock, processes, adoptsAll = false, onEvent = () => {} } = options;
  const { concurrency, timeoutMs } = options.options;
  const within = (name: string) => path.join(folder, name);
  const folders = ["claims", "collected", "slots", "waiting"].map(within);
  await Promise.all([...folders, referencesFolder(folder)].map((each) => makeFolder(each, 0o700)));
  if (!isPresent(within("spec"))) await createWhole(within("spec"), `${spec.name}\n`, 0o600);
  const tasks = await QueuedTasks.at(within("tasks"));
  const pause = new SharedPause(folder, processes);
  const slotLimits = { concurrency, forMs: timeoutMs + SLOT_MARGIN_MS };
  const slots = new GeneratorSlots(within("slots"), slotLimits, { processes, clock });
  const admission = new Admission({
    pause,
    clock,
    retriesAccount: adoptsAll,
    onPause: (paused) => onEvent({ kind: "paused", ...paused }),
  });
  const waitQueue = new WaitQueue(within("waiting"), clock);
  const queue = new Queue({ ...requestDeps(options), tasks, slots, waitQueue, admission, onEvent });
  const claims = within("claims");
  const collected = new CollectedImages(within("collected"), clock);
  // What stays for longer does no harm.
  if (options.runs) {
    await collected.removeOld(tasks).catch(() => {});
    await removeOldReferences(referencesFolder(folder), tasks, clock).catch(() => {});
  }
  await sweepClaims(claims, readdirSync(claims), async (id) => tasks.isOpen(id), processes);
  const [apiKey, secret] = await Promise.all([
    loadSecret(within("key"), "sk-"),
    loadSecret(within("secret")),
  ]);
  return { tasks, collected, pause, slots, queue, claims, apiKey, secret };
}

function operationsOf(service: GeneratorService): Operations {
  const guarded = (operation: typeof submit) => async (request: Request, key: string) =>
    isSameText(key, service.apiKey) ? operation(request, service) : refusal("login_required");
  return {
    submit: guarded(submit),
    poll: guarded(poll),
    file: (address) => serveFile(address, service),
  };
}

/** Takes over the tasks of ended processes, now and from time to time, until it is stopped. */
async function adoptAll(
  service: GeneratorService,
  onEvent: (event: ServiceEvent) => void = () => {},
  signal: AbortSignal,
): Promise<void> {
  const told = new Set<string>();
  const onError = (taskId: string, error: unknown) => {
    if (!told.has(taskId)) onEvent({ kind: "dropped", taskId, why: errorText(error) });
    told.add(taskId);
  };
  while (!signal.aborted) {
    try {
      const others = service.tasks.openIds().filter((taskId) => !service.queue.has(taskId));
      await adoptInOrder(others, service, onError);
    } catch {
      // The disk refuses what the next round may be given.
    }
    await service.clock.sleep(ADOPT_MS, signal).catch(() => {});
  }
}
