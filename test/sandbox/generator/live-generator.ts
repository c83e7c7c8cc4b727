import { onTestFinished } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemProcesses } from "../../../src/lib/processes.ts";
import type { GeneratorOptions } from "../../../src/providers/options.ts";
import {
  type GeneratorServiceOptions,
  type ServiceEvent,
  startGeneratorService,
} from "../../../src/sandbox/generator-service.ts";
import { OPTIONS } from "../../providers/job.ts";
import { scriptedGenerator } from "../../support/scripted-generator.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { type Answer, clientOf } from "../live.ts";

type LiveOptions = Partial<Omit<GeneratorServiceOptions, "options">> & {
  options?: Partial<GeneratorOptions>;
};

/** A service with a generator for one test, and a client with its key. */
export async function liveGenerator({ options, ...others }: LiveOptions = {}) {
  const folder = others.folder ?? (await temporaryFolder());
  const events: ServiceEvent[] = [];
  const service = await startGeneratorService({
    spec: { name: "command:paint" },
    generator: scriptedGenerator(),
    matrix: [],
    runs: true,
    clock: systemClock,
    processes: systemProcesses(),
    onEvent: (event) => events.push(event),
    ...others,
    folder,
    options: { ...OPTIONS, timeoutMs: 60_000, ...options },
  });
  onTestFinished(() => service.close(undefined, 0));
  const client = clientOf(service.baseUrl, service.apiKey);
  /** Polls until a task has ended. */
  const ended = async (taskId: string): Promise<Data> => {
    for (;;) {
      const data = dataOf(await client.poll(taskId));
      if (data.status === "completed" || data.status === "failed") return data;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return { ...service, folder, events, ...client, ended };
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
