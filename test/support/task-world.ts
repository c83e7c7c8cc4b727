import path from "node:path";
import { onTestFinished } from "vitest";
import { HttpClient, type HttpClientOptions } from "../../src/api/http-client.ts";
import type { Connection, GeneratorFacts, TaskDeps } from "../../src/core/engine/deps.ts";
import type { TaskProgressEvent } from "../../src/core/engine/events.ts";
import { RunFileNames } from "../../src/core/images/published-names.ts";
import { dayCap } from "../../src/core/limits/budget.ts";
import { Gate } from "../../src/core/limits/gate.ts";
import { PollingSchedules } from "../../src/core/polling/choose-schedule.ts";
import { keyFingerprint } from "../../src/lib/fingerprint.ts";
import { InterruptedError, type InterruptSignal } from "../../src/lib/interrupted.ts";
import { type Processes, systemProcesses } from "../../src/lib/processes.ts";
import { keyMasker } from "../../src/lib/redact.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { HttpImageService, type ServiceOptions } from "../../src/providers/service/http-service.ts";
import { Ledger } from "../../src/store/ledger.ts";
import {
  type Destination,
  GENERATOR_KEY_ID,
  type IntentTerms,
  type ServiceIdentity,
  serviceTerms,
} from "../../src/task/intent.ts";
import { CANARY } from "./canary.ts";
import { type FakeClock, fakeClock } from "./fake-clock.ts";
import { WORK } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const TEST_KEY = CANARY;

/** An HTTP client that is closed after the test. */
export function testClient(options: HttpClientOptions = {}): HttpClient {
  const client = new HttpClient(options);
  onTestFinished(() => client.close());
  return client;
}

/** The service at an address, spoken to as imggen does, with time-outs short enough for a test. */
export function testService(baseUrl: string, options: Partial<ServiceOptions> = {}): HttpImageService {
  const { http = testClient(), clock = fakeClock(), apiKey = TEST_KEY, ...rest } = options;
  return new HttpImageService({ http, clock, apiKey, baseUrl, requestTimeoutMs: 2000, ...rest });
}

export function testIdentity(baseUrl: string): ServiceIdentity {
  return { baseUrl, keyId: keyFingerprint(TEST_KEY) };
}

/** How tasks at a provider of the test's own name it. */
export const GENERATOR: ServiceIdentity = { baseUrl: "openai:http://127.0.0.1", keyId: GENERATOR_KEY_ID };

/** Every task gets an id of its own, which ends in the number of tasks so far. */
function countedWork(work: Partial<IntentTerms> = {}): Connection["termsFor"] {
  let count = 0;
  return ({ maxImages = 1 }) => {
    count += 1;
    return { ...WORK, taskId: `task_${count}`, requests: maxImages, ...work };
  };
}

const FACTS: GeneratorFacts = { name: GENERATOR.baseUrl, queue: null };

/**
 * What one process of imggen has at hand in a test: a ledger, a service, an empty folder for images, a clock. `events` is
 * everything that was told, in order, and `written` the bytes that went to standard output.
 */
export type TaskWorld = Awaited<ReturnType<typeof taskWorld>>;

export interface TaskWorldOptions {
  clock?: FakeClock;
  processes?: Processes;
  /** The state folder of an earlier world, to go on from there. */
  stateFolder?: string;
  output?: string;
  service?: Partial<ServiceOptions>;
  /** A provider that answers with its images, in place of the hosted service. */
  provider?: Provider;
  /** What a task is worth there: paid, unless this says otherwise. */
  work?: Partial<IntentTerms>;
  /** What the account may spend in a day. */
  dailyCredits?: number;
  onProgress?: (event: TaskProgressEvent) => void;
}

export async function taskWorld(baseUrl: string, options: TaskWorldOptions = {}) {
  const root = await temporaryFolder();
  const {
    clock = fakeClock(),
    stateFolder = path.join(root, "state"),
    output = path.join(root, "out"),
  } = options;
  const controller = new AbortController();
  const events: TaskProgressEvent[] = [];
  const written: Buffer[] = [];
  const connection: Connection = {
    identity: options.provider ? GENERATOR : testIdentity(baseUrl),
    provider: options.provider ?? testService(baseUrl, { clock, ...options.service }),
    generator: options.provider && FACTS,
    termsFor: options.provider ? countedWork(options.work) : serviceTerms,
    downloads: testClient(),
    serviceUrl: new URL(baseUrl),
    maskKey: keyMasker(TEST_KEY),
    maskUrl: keyMasker(TEST_KEY),
  };
  const ledger = new Ledger(stateFolder, clock, options.processes ?? systemProcesses());
  const deps: TaskDeps = {
    connection,
    ledger,
    schedules: new PollingSchedules(ledger, connection.identity),
    published: new RunFileNames(clock.now()),
    clock,
    signal: controller.signal,
    onProgress(event) {
      events.push(event);
      options.onProgress?.(event);
    },
    fileMode: 0o644,
    async writeOut(bytes) {
      for await (const chunk of bytes) written.push(chunk);
    },
    random: () => 0.5,
    dailyCredits: null,
    gate: new Gate({ clock, random: () => 0.5 }),
    caps: [dayCap({ ledger, clock, dailyCredits: options.dailyCredits ?? null })],
    downloadIdleMs: 2000,
  };
  const destination: Destination = {
    kind: "folder",
    folder: output,
    template: "{slug}.{ext}",
    overwrite: false,
  };
  const interrupt = (signal: InterruptSignal = "SIGINT") => controller.abort(new InterruptedError(signal));
  return { deps, clock, events, written, stateFolder, output, destination, interrupt };
}
