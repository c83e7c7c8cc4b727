import path from "node:path";
import { Slots } from "../lib/concurrency.ts";
import { makeFolder } from "../lib/durable.ts";
import { SERVER_KEY_PREFIX } from "../lib/redact.ts";
import { createListener, type Operations, type ServiceRequest } from "../server/http.ts";
import { loadSecret } from "../server/links.ts";
import { listenOnLoopback } from "../server/listen.ts";
import { refusal } from "../server/reply.ts";
import { Calls } from "./call-records.ts";
import { FILES } from "./client-request.ts";
import { Clients } from "./clients.ts";
import { findImage, poll, serveFile, submit } from "./document-api.ts";
import { CollectedImages, removeOldReferences } from "./kept-images.ts";
import { ModelList } from "./model-list.ts";
import { openAiRoutes, REFERENCES } from "./openai/routes.ts";
import { isOwnKey, type ServeOptions, type Service } from "./serve-options.ts";
import { adoptTasks, openRunner } from "./server-tasks.ts";

export type { ServeEvent, ServeOptions } from "./serve-options.ts";

const TIDY_MS = 3_600_000;

export interface RunningServer {
  /** `http://127.0.0.1:<port>/api` */
  baseUrl: string;
  /** `http://127.0.0.1:<port>/v1`, of OpenAI's API. */
  openaiBaseUrl: string;
  apiKey: string;
  port: number;
  /**
   * Begins nothing new, and waits for requests in flight, for the grace at most. Tasks that were not begun stay
   * in the ledger for the next server.
   * @param onWait called with the number of requests that are waited for, if there are any
   */
  close(onWait?: (count: number) => void): Promise<void>;
}

/**
 * Serves the API of the document on loopback, with the user's own generator behind it. Every task is a file in the
 * ledger, and is worked off like any other; it is marked as this server's.
 * @throws the system's error if the port is taken or the folder cannot be used
 */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const service = await openService(options);
  const { runner, apiKey, clock } = service;
  const living = await service.ledger.servers.join(service.name);
  const { server, port, origin, close } = await listenOnLoopback(options.port ?? 0).catch(
    (error: unknown) => {
      living.end();
      throw error;
    },
  );
  server.on("request", createListener(serverOperations(service), options.onRequest));
  const stop = new AbortController();
  const adopting = adoptTasks({ ...service, renew: () => living.renew() }, stop.signal);
  const tidying = tidy(stop.signal);
  return {
    baseUrl: `${origin}/api`,
    openaiBaseUrl: `${origin}/v1`,
    apiKey,
    port,
    async close(onWait = () => {}) {
      stop.abort();
      service.clients.close();
      await Promise.all([adopting, tidying]);
      if (runner.inFlight > 0 && service.graceMs > 0) onWait(runner.inFlight);
      await runner.close();
      await service.clients.answered();
      await close();
      living.end();
    },
  };

  async function tidy(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Old files do no harm.
      await removeOld(service).catch(() => {});
      await clock.sleep(TIDY_MS, signal).catch(() => {});
    }
  }
}

/** Removes files that are no longer needed. @throws the disk's error */
async function removeOld(service: Service): Promise<void> {
  const { collected, calls, ledger, runner, folder, clock } = service;
  await collected.removeOld(async (image) => {
    const file = (await findImage(image, service))?.path ?? null;
    // An image that `resume` has saved elsewhere is the user's.
    return file !== null && path.dirname(file) === path.join(folder, FILES) ? file : null;
  });
  await calls.removeOld(service.onceMs ?? 0, (id) => ledger.isOpen(id));
  removeOldReferences(path.join(folder, REFERENCES), neededReferences(runner), clock.now());
}

/** Names of the files of reference images that unfinished tasks have. */
function neededReferences({ open }: Service["runner"]): Set<string> {
  const urls = open.flatMap(({ task }) => task.intent.request.image ?? []);
  return new Set(urls.map((url) => url.slice(url.lastIndexOf("/") + 1)));
}

async function openService(options: ServeOptions): Promise<Service> {
  const { folder, ledger, clock } = options;
  const within = (name: string) => path.join(folder, name);
  await Promise.all([FILES, COLLECTED, REFERENCES, CALLS].map((name) => makeFolder(within(name), 0o700)));
  // Files of killed processes do no harm.
  await ledger.sweep().catch(() => {});
  const modelList = new ModelList(options);
  await modelList.refresh();
  const [key, secret] = await Promise.all([loadSecret(within("key"), "sk-"), loadSecret(within("secret"))]);
  const apiKey = key.replace(/^sk-/, SERVER_KEY_PREFIX);
  const collected = new CollectedImages(within(COLLECTED), clock);
  const calls = new Calls(within(CALLS), ledger);
  const { runner, gate } = openRunner(options);
  const clients = new Clients({ calls, runner, clock });
  const limited = new Slots(options.dailyCredits === null ? Number.POSITIVE_INFINITY : 1);
  return { ...options, runner, gate, calls, clients, modelList, collected, limited, apiKey, secret };
}

const COLLECTED = "collected";
const CALLS = "calls";

function serverOperations(service: Service): Operations {
  const guarded = (operation: typeof submit) => async (request: ServiceRequest, key: string) =>
    isOwnKey(key, service) ? operation(request, service) : refusal("login_required");
  return {
    submit: guarded(submit),
    poll: guarded(poll),
    file: (address) => serveFile(address, service),
    version1: openAiRoutes(service),
  };
}
