import { readdirSync } from "node:fs";
import path from "node:path";
import { sweepClaims } from "../lib/claim.ts";
import { isPresent, makeFolder } from "../lib/durable.ts";
import { createWhole } from "../lib/write-whole.ts";
import { referencesFolder } from "../providers/generator.ts";
import { adoptAll } from "./generator/adopt.ts";
import { CollectedImages, removeOldReferences, serveFile } from "./generator/kept-files.ts";
import { poll } from "./generator/poll.ts";
import type { GeneratorService } from "./generator/service.ts";
import { submit } from "./generator/submit.ts";
import { createListener, type Operations, type ServiceRequest } from "./http.ts";
import { isSameText, loadSecret } from "./links.ts";
import { listenOnLoopback } from "./listen.ts";
import type { GeneratorServiceOptions } from "./queue/context.ts";
import { SharedPause } from "./queue/pause.ts";
import { Queue } from "./queue/queue.ts";
import { GeneratorSlots } from "./queue/slots.ts";
import { QueuedTasks } from "./queue/task-folder.ts";
import { refusal } from "./reply.ts";
import { taskIdFor } from "./task-id.ts";

export type { GeneratorServiceOptions, ServiceEvent } from "./queue/context.ts";

/** For how much longer than a request may take a slot is respected by other machines. */
const SLOT_MARGIN_MS = 60_000;

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

/**
 * Serves the image service of the document on loopback, with the user's own generator behind it: a queue whose tasks
 * survive every process, at most one request at a time for each of the generator's slots, and the result as files.
 * @throws the system's error if the port is taken or the folder cannot be used
 */
export async function startGeneratorService(
  options: GeneratorServiceOptions,
): Promise<RunningGeneratorService> {
  const service = await openService(options);
  const { queue, tasks, apiKey } = service;
  const { server, port, origin, close } = await listenOnLoopback(options.port ?? 0);
  server.on("request", createListener(operationsOf(service), options.onRequest));
  const stop = new AbortController();
  const adopting = options.adoptsAll ? adoptAll(service, stop.signal) : null;
  return {
    baseUrl: `${origin}/api`,
    apiKey,
    port,
    hold: (taskId) => queue.hold(taskId),
    taskOf: async (requestId) => (await tasks.find(taskIdFor(requestId)))?.task.taskId ?? null,
    async close(onWait, graceMs) {
      stop.abort();
      await adopting;
      await queue.close(onWait, graceMs);
      await options.generator.close();
      await close();
    },
  };
}

async function openService(options: GeneratorServiceOptions): Promise<GeneratorService> {
  const { folder, spec, clock, processes, runs } = options;
  const { concurrency, timeoutMs } = options.options;
  const within = (name: string) => path.join(folder, name);
  const folders = ["claims", "collected", "slots", "waiting"].map(within);
  await Promise.all([...folders, referencesFolder(folder)].map((each) => makeFolder(each, 0o700)));
  if (!isPresent(within("spec"))) await createWhole(within("spec"), `${spec.name}\n`, 0o600);
  const tasks = await QueuedTasks.at(within("tasks"));
  const slotLimits = { concurrency, forMs: timeoutMs + SLOT_MARGIN_MS };
  const slots = new GeneratorSlots(within("slots"), slotLimits, { processes, clock });
  const claims = within("claims");
  const context = { ...options, tasks, claims, slots, pause: new SharedPause(folder, processes) };
  const collected = new CollectedImages(within("collected"), clock);
  // What stays for longer does no harm.
  if (runs) {
    await collected.removeOld(tasks).catch(() => {});
    await removeOldReferences(referencesFolder(folder), tasks, clock).catch(() => {});
  }
  await sweepClaims(claims, readdirSync(claims), async (id) => tasks.isOpen(id), processes);
  const [apiKey, secret] = await Promise.all([
    loadSecret(within("key"), "sk-"),
    loadSecret(within("secret")),
  ]);
  return { ...context, queue: new Queue(context), collected, apiKey, secret };
}

function operationsOf(service: GeneratorService): Operations {
  const guarded = (operation: typeof submit) => async (request: ServiceRequest, key: string) =>
    isSameText(key, service.apiKey) ? operation(request, service) : refusal("login_required");
  return {
    submit: guarded(submit),
    poll: guarded(poll),
    file: (address) => serveFile(address, service),
  };
}
