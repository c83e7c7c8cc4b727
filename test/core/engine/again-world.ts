import { onTestFinished } from "vitest";
import { createIntent } from "../../../src/core/engine/begin.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { type GenerateSpec, generate } from "../../../src/core/use-cases/generate.ts";
import type { Processes } from "../../../src/lib/processes.ts";
import { MODELS } from "../../../src/models/matrix.ts";
import type { IntentTerms } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import type { FakeClock } from "../../support/fake-clock.ts";
import { finishTask } from "../../support/finish-task.ts";
import { png } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { scriptedProvider } from "../../support/scripted-provider.ts";
import { completedAt } from "../../support/scripts.ts";
import { identity, someProcesses } from "../../support/some-processes.ts";
import { taskWorld } from "../../support/task-world.ts";
import { leaveImage } from "./work-world.ts";

export const DAY_MS = 24 * 60 * 60_000;

export const REQUEST = { prompt: "a fox", model: "gamma-image-2" };

/** How an earlier task for `REQUEST` was left. */
export interface Left {
  lines?: readonly Line[];
  /** Whether its process is alive; `elsewhere`: it cannot be asked, as on another machine. */
  process?: "dead" | "alive" | "elsewhere";
  /** Of a provider with a queue, in place of the hosted service. */
  work?: Partial<IntentTerms>;
  /** Whether the first request counts as sent. Default: at the hosted service. */
  isSent?: boolean;
  isFinished?: boolean;
  isCancelled?: boolean;
  /** Whether something of the reply has arrived. */
  hasReply?: boolean;
  agoMs?: number;
  /** Default: 2. */
  credits?: number | null;
  /** Default: one whose waits take no time. */
  clock?: FakeClock;
}

const ELSEWHERE: Processes = { self: identity(2, "elsewhere"), isAlive: () => true };

/** A task for `REQUEST` that process 2 has left, and process 1 that has the same request. */
export async function leftWorld(left: Left = {}) {
  const { lines = [], process = "dead", work, isSent = work === undefined, agoMs = 0, credits = 2 } = left;
  const server = await liveService(png(), { poll: completedAt("/1.png", "/2.png") });
  const processes = someProcesses(1, 2);
  const provider = work && scriptedProvider();
  const as = (which: Processes, more = {}) =>
    taskWorld(server.baseUrl, {
      processes: which,
      ...(provider && { provider, work }),
      ...(left.clock && { clock: left.clock }),
      ...more,
    });
  const before = await as(process === "elsewhere" ? ELSEWHERE : processes.as(2));
  const { stateFolder, output, clock, destination } = before;
  const images = work?.requests ?? 1;
  const request = { ...REQUEST, ...(images > 1 && { maxImages: images }) };
  const wait = { timeoutMs: 5000, schedule: fixedSchedule(1000) };
  const taskSpec = { checked: { request, credits, warnings: [] }, destination, wait };
  const owned = await before.deps.ledger.begin(createIntent(taskSpec, before.deps), { isSent });
  if (owned === "taken") throw new Error("an id of another task");
  onTestFinished(() => owned.file.closeIfPossible());
  for (const line of lines) await owned.file.record(line);
  const { id } = owned.task;
  if (left.hasReply) await leaveImage(id, before, png());
  if (left.isFinished) await finishTask(before.deps.ledger, owned);
  if (left.isCancelled) await before.deps.ledger.cancels.add(id);
  if (process === "dead") processes.die(2);
  clock.advance(agoMs);
  const world = await as(processes.as(1), { stateFolder, output, clock });
  const spec: GenerateSpec = {
    ...taskSpec,
    repeated: null,
    again: false,
    reuse: false,
    maxCredits: undefined,
    matrix: MODELS,
    allowUndocumented: false,
  };
  const warnings: string[] = [];
  const run = (more: Partial<GenerateSpec> = {}, deps = world.deps) =>
    generate({ ...spec, ...more }, deps, { onWarning: async (message) => void warnings.push(message) });
  const jobs = () => (provider ? provider.jobs.length : server.submits().length);
  return { ...world, before, owned, server, provider, processes, as, request, spec, run, warnings, jobs, id };
}
