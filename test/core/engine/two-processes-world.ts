import { submitNew } from "../../../src/core/engine/begin.ts";
import { continueNamed } from "../../../src/core/engine/continue.ts";
import { singleAccountDeps } from "../../../src/core/engine/deps.ts";
import { dismissTask } from "../../../src/core/engine/dismiss.ts";
import type { Queue, Turn } from "../../../src/core/limits/turns.ts";
import type { Processes } from "../../../src/lib/processes.ts";
import type { IntentTerms } from "../../../src/task/intent.ts";
import { counted } from "../../support/counted.ts";
import { hurriedClock } from "../../support/fake-clock.ts";
import { type Answer, drawn, scriptedProvider } from "../../support/scripted-provider.ts";
import { identity } from "../../support/some-processes.ts";
import { type TaskWorld, taskWorld } from "../../support/task-world.ts";

/** How long a process counts as alive that is stopped. */
export const STOPPED_MS = 61_000;

/** A process in a container of its own: no other can ask whether it is alive. */
const inContainer = (pid: number, scope: string): Processes => ({
  self: identity(pid, scope),
  isAlive: (other) => (other.scope === scope ? true : null),
});

/** A queue whose turns the test gives. */
function testLine() {
  const asked = counted();
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const turn: Turn = { release: async () => {} } as Turn;
  const line = {
    async take(_order: string, { signal }: { signal: AbortSignal }) {
      asked.add();
      await new Promise<void>((resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        void given.then(resolve);
      });
      return turn;
    },
  } as Partial<Queue> as Queue;
  return { line, asked, give };
}

interface Options {
  answer?: Answer;
  work?: Partial<IntentTerms>;
  /** Whether process 1 waits for a turn that the test gives. */
  hasQueue?: boolean;
}

/** Processes 1 and 2, each in a container of its own, that share a home and a provider, which counts the submits. */
export async function twoProcesses({
  answer = (job) => drawn(job),
  work = {},
  hasQueue = false,
}: Options = {}) {
  const provider = scriptedProvider(answer);
  const clock = hurriedClock();
  const asProcess = (pid: number, scope: string, more: Partial<TaskWorld> = {}) =>
    taskWorld("http://127.0.0.1:9/api", {
      provider,
      work,
      clock,
      processes: inContainer(pid, scope),
      ...(more.stateFolder !== undefined && { stateFolder: more.stateFolder, output: more.output ?? "" }),
    });
  const one = await asProcess(1, "a");
  const two = await asProcess(2, "b", one);
  const queue = testLine();
  const { connection } = one.deps;
  const { generator } = connection;
  if (hasQueue && generator)
    one.deps.connection = { ...connection, generator: { ...generator, queue: queue.line } };
  const images = work.requests ?? 1;
  const request = { prompt: "a fox", model: "flux", ...(images > 1 && { maxImages: images }) };
  const wait = { timeoutMs: null, schedule: null };
  const spec = {
    checked: { request, credits: 2 * images, warnings: [] },
    destination: one.destination,
    wait,
  };
  /** Process 1 generates. */
  const generate = () => submitNew(spec, one.deps);
  const taskOf = async () => {
    const task = await two.deps.ledger.find("task_1");
    if (task === null) throw new Error("no task");
    return task;
  };
  const resume = async (world: TaskWorld) =>
    continueNamed(await taskOf(), { wait, destination: null, sends: true }, singleAccountDeps(world.deps));
  /** Process 1 is stopped, as by Ctrl-Z, until its time is over. */
  const stop = () => clock.advance(STOPPED_MS);
  const dismiss = async () =>
    dismissTask(await taskOf(), { why: "by the user", replacement: null }, two.deps.ledger);
  /** Another run of process 2. */
  const next = () => asProcess(3, "b", one);
  return { one, two, next, provider, clock, queue, spec, generate, resume, dismiss, stop, taskOf };
}

/** A reply that comes when the test says so. */
export function delayed(reply: Answer) {
  let send = () => {};
  const sent = new Promise<void>((resolve) => {
    send = resolve;
  });
  const answer: Answer = async (job, how, number) => {
    await sent;
    return reply(job, how, number);
  };
  return { answer, send };
}
