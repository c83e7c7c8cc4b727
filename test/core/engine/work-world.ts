import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { onTestFinished } from "vitest";
import { createIntent, submitNew } from "../../../src/core/engine/begin.ts";
import { continueNamed } from "../../../src/core/engine/continue.ts";
import { singleAccountDeps } from "../../../src/core/engine/deps.ts";
import { dismissTask } from "../../../src/core/engine/dismiss.ts";
import type { Destination, IntentTerms } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import { hurriedClock } from "../../support/fake-clock.ts";
import { type Answer, type ScriptedProvider, scriptedProvider } from "../../support/scripted-provider.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { type TaskWorld, taskWorld } from "../../support/task-world.ts";

export interface JobOptions {
  answer?: Answer;
  /** What a task is worth; paid, unless this says otherwise. */
  work?: Partial<IntentTerms>;
  images?: number;
  /** How long the images are waited for. */
  timeoutMs?: number | null;
}

const NOWHERE = "http://127.0.0.1:9/api";

/** One process, 1, and a provider of the test's own, that answers with its images. */
export async function workWorld({ answer, work = {}, images = 1, timeoutMs = null }: JobOptions = {}) {
  const provider = scriptedProvider(answer);
  const clock = hurriedClock();
  const processes = someProcesses(1, 2);
  const world = await taskWorld(NOWHERE, { provider, work, clock, processes: processes.as(1) });
  const request = { prompt: "a fox", model: "flux", ...(images > 1 && { maxImages: images }) };
  const checked = { request, credits: null, warnings: [] };
  const { destination } = world;
  const wait = { timeoutMs, schedule: null };
  const spec = { checked, destination, wait };
  const generate = () => submitNew(spec, world.deps);
  /** A task of the same request that process 2 has begun. */
  const leave = async (lines: readonly Line[] = [], isAlive = false) => {
    const { stateFolder, output } = world;
    const options = { provider, work, clock, processes: processes.as(2), stateFolder, output };
    const { deps } = await taskWorld(NOWHERE, options);
    const owned = await deps.ledger.begin(createIntent(spec, deps));
    onTestFinished(() => owned.file.close());
    for (const line of lines) await owned.file.record(line);
    if (!isAlive) processes.die(2);
    return owned.task.id;
  };
  /** Another run, of a process of its own. */
  const next = async (id: string, options: Partial<JobOptions> & { provider?: ScriptedProvider } = {}) => {
    const { stateFolder, output } = world;
    const fresh = { provider, work, clock, processes: processes.as(1), stateFolder, output, ...options };
    const other = await taskWorld(NOWHERE, fresh);
    return { ...other, record: await recordOf(id, other) };
  };
  const resume = async (id: string, to: Destination | null = null) => {
    const { deps, record } = await next(id);
    return continueNamed(record, { wait, destination: to, sends: true }, singleAccountDeps(deps));
  };
  const dismiss = async (id: string) => {
    const { deps, record } = await next(id);
    return dismissTask(record, { why: "by the user", replacement: null }, deps.ledger);
  };
  return { ...world, provider, processes, spec, generate, leave, resume, dismiss };
}

async function recordOf(id: string, { deps }: Pick<TaskWorld, "deps">) {
  const record = await deps.ledger.find(id);
  if (record === null) throw new Error("no task");
  return record;
}

/** Where the files of the only task lie, and the types of its lines: of all parts, in their order. */
export function linesIn({ stateFolder }: Pick<TaskWorld, "stateFolder">) {
  const tasks = path.join(stateFolder, "tasks");
  const files = readdirSync(tasks, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .sort((one, other) => partOf(one) - partOf(other));
  if (new Set(files.map((file) => path.basename(file).split(".")[0])).size > 1)
    throw new Error("several tasks");
  const lines = files.flatMap((file) => readFileSync(path.join(tasks, file), "utf8").trimEnd().split("\n"));
  const types = lines.map((line) => /"type":"(\w+)"/.exec(line)?.[1] ?? "");
  return { folder: files[0]?.split("/")[0], types };
}

const partOf = (file: string) => Number(/-[0-9a-f]{8}\.(\d{1,4})\.jsonl$/.exec(file)?.[1] ?? 1);

/** Leaves what a process that has ended had received for a request. */
export async function leaveImage(
  id: string,
  world: TaskWorld,
  bytes: Buffer,
  { request = 0, attempt = "1.0", name = "image.png" } = {},
): Promise<void> {
  const folder = world.deps.ledger.work.attemptFolder(id, request, attempt);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, name), bytes);
}

/** What is kept of all requests of all tasks. */
export function keptIn({ deps }: Pick<TaskWorld, "deps">): string[] {
  try {
    const names = readdirSync(deps.ledger.work.folder, { recursive: true, encoding: "utf8" });
    return names.map((name) => name.split(path.sep).slice(1).join("/")).filter((name) => name.includes("/"));
  } catch {
    return [];
  }
}
