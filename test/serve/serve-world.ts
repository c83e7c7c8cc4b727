import path from "node:path";
import { onTestFinished } from "vitest";
import { HttpClient } from "../../src/api/http-client.ts";
import { termsFor } from "../../src/client/targets/open-generator.ts";
import type { GeneratorConnection } from "../../src/core/engine/deps.ts";
import { Queue } from "../../src/core/limits/turns.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { type Processes, systemProcesses } from "../../src/lib/processes.ts";
import type { GeneratorOptions } from "../../src/providers/kind.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { type ServeEvent, type ServeOptions, startServer } from "../../src/serve/start.ts";
import { Ledger } from "../../src/store/ledger.ts";
import { GENERATOR_KEY_ID } from "../../src/task/intent.ts";
import { ANY_MODEL } from "../../src/task/request.ts";
import { type Answer, clientOf } from "../sandbox/live.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { pause } from "../support/wait.ts";
import { scriptedProvider } from "./provider-script.ts";

interface LiveOptions extends Partial<ServeOptions> {
  provider?: Provider;
  processes?: Processes;
  options?: Partial<GeneratorOptions>;
}

/** The name of the server. */
export const SERVER = "0123456789abcdef";

export const OPTIONS: GeneratorOptions = {
  model: null,
  sidePx: 1024,
  sizeForm: null,
  concurrency: 1,
  timeoutMs: 60_000,
  defaults: {},
  savedFields: {},
  fieldNames: { seed: "seed", negative: "negative" },
  headers: {},
  isPaid: false,
  key: null,
};

/** A server with a provider of the test's own, for one test, and a client with its key. */
export async function liveServer(live: LiveOptions = {}) {
  const { provider = scriptedProvider(), processes = systemProcesses(), options: own, ...given } = live;
  const { folder = await temporaryFolder(), clock = systemClock } = given;
  const options = { ...OPTIONS, ...own };
  const events: ServeEvent[] = [];
  const downloads = new HttpClient();
  const lineLimits = { concurrency: options.concurrency, leaseMs: options.timeoutMs + 60_000 };
  const connection: GeneratorConnection = {
    identity: { baseUrl: "command:paint", keyId: GENERATOR_KEY_ID },
    provider,
    downloads,
    serviceUrl: new URL("http://localhost"),
    maskKey: (text) => text,
    maskUrl: (url) => url,
    termsFor: (request) => termsFor(request, options),
    generator: {
      name: "command:paint",
      queue: new Queue(path.join(folder, "turns"), lineLimits, { processes, clock }),
    },
  };
  const ledger = new Ledger(folder, clock, processes);
  const server = await startServer({
    folder,
    name: SERVER,
    connection,
    ledger,
    clock,
    concurrency: options.concurrency,
    isFree: !options.isPaid,
    fieldTerms: options,
    defaultModel: options.model,
    ownModel: { name: ANY_MODEL, isOnly: false },
    models: async () => null,
    matrix: [],
    random: Math.random,
    dailyCredits: null,
    graceMs: 0,
    onceMs: null,
    keepAliveMs: null,
    onEvent: (event) => events.push(event),
    ...given,
  });
  let closing: Promise<void> | null = null;
  const close: typeof server.close = (onWait) => {
    closing ??= server.close(onWait);
    return closing;
  };
  onTestFinished(async () => {
    await close();
    await downloads.close();
  });
  const client = clientOf(server.baseUrl, server.apiKey);
  /** Polls until a task has ended. */
  const ended = async (taskId: string): Promise<Data> => {
    for (;;) {
      const data = dataOf(await client.poll(taskId));
      if (data.status === "completed" || data.status === "failed") return data;
      await pause(10);
    }
  };
  return { ...server, close, folder, ledger, events, ...client, ended };
}

/** What a poll says of a task. */
export interface Data {
  taskId: string;
  status?: string;
  resultUrl?: string | string[];
  errorCode?: number;
  ahead?: number;
  progress?: number;
  detail?: string;
  outcome?: string;
  usage?: object;
}

export function dataOf({ body }: Answer): Data {
  if (body.data === undefined) throw new Error(`no data: ${JSON.stringify(body)}`);
  return body.data;
}
