import path from "node:path";
import { Slots } from "../lib/concurrency.ts";
import { makeFolder } from "../lib/durable.ts";
import { SERVER_KEY_PREFIX } from "../lib/redact.ts";
import { createListener, type Operations, type ServiceRequest } from "../server/http.ts";
import { loadSecret } from "../server/links.ts";
import { listenOnLoopback } from "../server/listen.ts";
import { refusal } from "../server/reply.ts";
import { Calls } from "./call-records.ts";
import { FILES_FOLDER } from "./client-request.ts";
import { Clients } from "./clients.ts";
import { findImage, poll, serveFile, submit } from "./document-api.ts";
import { CollectedImages, removeOldReferences } from "./kept-images.ts";
import { ModelList } from "./model-list.ts";
import { openAiRoutes, REFERENCES_FOLDER } from "./openai/routes.ts";
import { isOwnKey, type ServeOptions, type Service } from "./serve-options.ts";
import { adoptTasks, openRunner } from "./server-tasks.ts";

export type { ServeEvent, ServeOptions } from "./serve-options.ts";

const CLEANUP_INTERVAL_MS = 3_600_000;

export interface RunningServer {
  /** `http://127.0.0.1:<port>/api` */
  baseUrl: string;
  /** `http://127.0.0.1:<port>/v1`, for OpenAI's API. */
  openaiBaseUrl: string;
  apiKey: string;
  port: number;
  /**
   * Stops submits, and waits for requests in flight, at most for the grace period.
   * Other tasks remain in the ledger for the next server.
   * @param onWait called with the number of requests in flight if it is not 0
   */
  close(onWait?: (count: number) => void): Promise<void>;
}

/**
 * Starts a server on loopback with the API of the service's document and OpenAI's images API.
 * @throws the system's error if the port is in use or the folder is unusable
 */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const service = await openService(options);
  const { runner, apiKey, clock } = service;
  const registration = await service.ledger.servers.join(service.name);
  const { server, port, origin, close } = await listenOnLoopback(options.port ?? 0).catch(
    (error: unknown) => {
      registration.end();
      throw error;
    },
  );
  server.on("request", createListener(serverOperations(service), options.onRequest));
  const stop = new AbortController();
  const adopting = adoptTasks({ ...service, renew: () => registration.renew() }, stop.signal);
  const cleaning = cleanUp(stop.signal);
  return {
    baseUrl: `${origin}/api`,
    openaiBaseUrl: `${origin}/v1`,
    apiKey,
    port,
    async close(onWait = () => {}) {
      stop.abort();
      service.clients.close();
      await Promise.all([adopting, cleaning]);
      if (runner.inFlight > 0 && service.graceMs > 0) onWait(runner.inFlight);
      await runner.close();
      await service.clients.awaitReplies();
      await close();
      registration.end();
    },
  };

  async function cleanUp(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await removeOldFiles(service).catch(() => {});
      await clock.sleep(CLEANUP_INTERVAL_MS, signal).catch(() => {});
    }
  }
}

/** @throws the disk's error */
async function removeOldFiles(service: Service): Promise<void> {
  const { collected, calls, ledger, runner, folder, clock } = service;
  await collected.removeOld(async (image) => {
    const file = (await findImage(image, service))?.path ?? null;
    return file !== null && path.dirname(file) === path.join(folder, FILES_FOLDER) ? file : null;
  });
  await calls.removeOld(service.onceMs ?? 0, (id) => ledger.isOpen(id));
  removeOldReferences(path.join(folder, REFERENCES_FOLDER), neededReferences(runner), clock.now());
}

function neededReferences({ open }: Service["runner"]): Set<string> {
  const urls = open.flatMap(({ task }) => task.intent.request.image ?? []);
  return new Set(urls.map((url) => url.slice(url.lastIndexOf("/") + 1)));
}

async function openService(options: ServeOptions): Promise<Service> {
  const { folder, ledger, clock } = options;
  const inFolder = (name: string) => path.join(folder, name);
  await Promise.all(
    [FILES_FOLDER, COLLECTED_FOLDER, REFERENCES_FOLDER, CALLS_FOLDER].map((name) =>
      makeFolder(inFolder(name), 0o700),
    ),
  );
  await ledger.sweep().catch(() => {});
  const modelList = new ModelList(options);
  await modelList.refresh();
  const [key, secret] = await Promise.all([
    loadSecret(inFolder("key"), "sk-"),
    loadSecret(inFolder("secret")),
  ]);
  const apiKey = key.replace(/^sk-/, SERVER_KEY_PREFIX);
  const collected = new CollectedImages(inFolder(COLLECTED_FOLDER), clock);
  const calls = new Calls(inFolder(CALLS_FOLDER), ledger);
  const { runner, gate } = openRunner(options);
  const clients = new Clients({ calls, runner, clock });
  const limited = new Slots(options.dailyCredits === null ? Number.POSITIVE_INFINITY : 1);
  return { ...options, runner, gate, calls, clients, modelList, collected, limited, apiKey, secret };
}

const COLLECTED_FOLDER = "collected";
const CALLS_FOLDER = "calls";

function serverOperations(service: Service): Operations {
  const requireOwnKey = (operation: typeof submit) => async (request: ServiceRequest, key: string) =>
    isOwnKey(key, service) ? operation(request, service) : refusal("login_required");
  return {
    submit: requireOwnKey(submit),
    poll: requireOwnKey(poll),
    file: (address) => serveFile(address, service),
    version1: openAiRoutes(service),
  };
}
