import { describe, expect, it } from "vitest";
import { AuthRequiredError, NoRoomError } from "../../../src/api/api-errors.ts";
import { singleAccountDeps } from "../../../src/core/engine/deps.ts";
import { cancel } from "../../../src/core/use-cases/cancel.ts";
import type { PollReply } from "../../../src/providers/provider.ts";
import type { IntentTerms } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import { png } from "../../support/images.ts";
import { INTENT, LINES } from "../../support/records.ts";
import { words } from "../../support/words.ts";
import { type JobOptions, keptIn, leaveImage, linesIn, workWorld } from "../engine/work-world.ts";

const { started, accepted } = LINES;
const WAIT = { timeoutMs: null, schedule: null };
const FREE: Partial<IntentTerms> = { isPaid: false };
const at = <Each extends Line>(request: number, line: Each) => ({ ...line, request });

/** A task that process 2 has begun, and left in the state that these lines lead to. */
async function leftTask(
  lines: readonly Line[],
  { isAlive = false, ...options }: JobOptions & { isAlive?: boolean } = {},
) {
  const world = await workWorld(options);
  const id = await world.leave(lines, isAlive);
  const run = async (wait = false) => {
    const [report] = await cancel({ ids: [id], wait: wait ? WAIT : null }, singleAccountDeps(world.deps));
    if (report === undefined) throw new Error("no report");
    return report;
  };
  return { ...world, id, run };
}

/** A provider that has the task, and can cancel. */
function answering(
  { provider }: Awaited<ReturnType<typeof leftTask>>,
  answer: boolean | null,
  ...polls: PollReply[]
) {
  const asked: string[] = [];
  Object.assign(provider, {
    cancel: async (id: string) => {
      asked.push(id);
      return answer;
    },
    poll: async (): Promise<PollReply> => polls.shift() ?? RUNNING,
  });
  return asked;
}

const NO_KEY = new AuthRequiredError("No.");
const NO_ROOM = new NoRoomError("The disk is full.", { charged: "yes" });
const RUNNING: PollReply = { outcome: "state", task: { status: "running", providerState: null } };
const failed = (facts = {}): PollReply => ({
  outcome: "state",
  task: { status: "failed", errorCode: null, ...facts },
});

describe("to cancel a task that waits", () => {
  it("says that it did so in part where another of its requests is in flight", async () => {
    const world = await leftTask([at(0, started)], { images: 3 });
    await leaveImage(world.id, world, png());
    const said = /^Task \S+ was cancelled in part \(2 of 3 requests\): its request is in flight/;
    const error = { type: "pending", message: expect.stringMatching(said) };
    expect(await world.run()).toMatchObject({ state: "started", cancelled: 2, error });
  });

  it("leaves it to the process that has it, which is named with its id", async () => {
    const world = await leftTask([], { isAlive: true });
    const message = expect.stringMatching(/pid 2\) .*not cancelled/);
    const error = { type: "pending", message, hint: expect.stringMatching(/kill -INT 2$/) };
    expect(await world.run()).toMatchObject({ state: "waiting", cancelled: 0, error });
    expect(linesIn(world).types).toEqual(["intent"]);
  });
});

describe("to cancel a task whose process ended while its request was in flight", () => {
  it("gives it up where it is free", async () => {
    const world = await leftTask([started], { work: FREE });
    expect(await world.run()).toMatchObject({ state: "cancelled", charged: "no", cancelled: 1, error: null });
    expect(await world.resume(world.id)).toMatchObject({ state: "cancelled", charged: "no" });
    expect(world.provider.jobs).toEqual([]);
  });

  it("keeps the image that had arrived all the same", async () => {
    const world = await leftTask([started], { work: FREE });
    await leaveImage(world.id, world, png());
    expect(await world.run()).toMatchObject({ state: "completed", cancelled: 0, error: null });
    expect(await world.resume(world.id)).toMatchObject({ state: "saved" });
  });

  it("leaves it where it is paid for, and something of its reply is here, and never calls it free", async () => {
    const world = await leftTask([started]);
    await leaveImage(world.id, world, png());
    const error = { type: "pending", charged: "unknown" };
    expect(await world.run()).toMatchObject({ state: "started", charged: "unknown", cancelled: 0, error });
    expect(linesIn(world).types).toEqual(["intent", "started", "taken", "released"]);
  });

  it("waits for what is paid where that is asked for: what arrived is made, else the outcome is unknown", async () => {
    const made = await leftTask([started]);
    await leaveImage(made.id, made, png());
    expect(await made.run(true)).toMatchObject({ state: "completed", charged: "yes", error: null });
    expect(keptIn(made)).toEqual(["0-1.0/image.png"]);
    const lost = await (await leftTask([started])).run(true);
    expect(lost).toMatchObject({ state: "unknown", charged: "unknown", error: { type: "outcome_unknown" } });
  });
});

describe("to cancel a task that its provider has accepted", () => {
  it("asks it to stop, and never counts it as not charged without its word", async () => {
    const world = await leftTask([started, accepted]);
    const asked = answering(world, true, failed());
    const report = await world.run();
    expect(report).toMatchObject({ state: "cancelled", charged: "unknown", cancelled: 1, error: null });
    expect(asked).toEqual(["task-1"]);
    expect(linesIn(world)).toEqual({ folder: "done", types: words("intent started accepted taken failed") });
  });

  it("takes its word that nothing was charged", async () => {
    const world = await leftTask([started, accepted]);
    answering(world, true, RUNNING, failed({ charged: "no" }));
    expect(await world.run()).toMatchObject({ state: "cancelled", charged: "no" });
  });

  it("keeps what was made at that very moment", async () => {
    const world = await leftTask([started, accepted]);
    const urls = ["http://127.0.0.1:9/1.png"];
    answering(world, true, { outcome: "state", task: { status: "completed", urls } });
    expect(await world.run()).toMatchObject({ state: "completed", charged: "yes", urls, cancelled: 0 });
  });

  it.each([
    ["does not stop it", false, [], /did not cancel it/],
    ["does not answer", null, [], /did not reply/],
    ["goes on", true, [], /has not confirmed yet/],
    ["refuses the key", true, [{ outcome: "refused", error: NO_KEY } as const], /has not confirmed yet/],
    [
      "has made what no disk takes",
      true,
      [{ outcome: "refused", error: NO_ROOM } as const],
      /not confirmed yet/,
    ],
  ])("leaves it accepted where the provider %s", async (_what, answer, polls, why) => {
    const world = await leftTask([started, accepted]);
    answering(world, answer, ...polls);
    const error = { type: "pending", message: expect.stringMatching(why) };
    expect(await world.run()).toMatchObject({ state: "accepted", charged: "yes", cancelled: 0, error });
    expect(linesIn(world).folder).toBe("open");
  });

  it("leaves it accepted at a provider that cannot cancel", async () => {
    const world = await leftTask([started, accepted]);
    const error = { message: expect.stringContaining("does not support cancelling") };
    expect(await world.run()).toMatchObject({ state: "accepted", error });
  });

  it("ends the requests that wait, and asks only about those it has accepted", async () => {
    const world = await leftTask([at(1, started), at(1, accepted)], { images: 2 });
    const asked = answering(world, true, failed());
    expect(await world.run()).toMatchObject({ state: "cancelled", cancelled: 2 });
    expect(asked).toEqual(["task-1"]);
  });
});

describe("to cancel a task", () => {
  it("that is over changes nothing", async () => {
    const world = await workWorld();
    await world.generate();
    const before = linesIn(world);
    expect(await cancel({ ids: ["task_1"], wait: null }, singleAccountDeps(world.deps))).toMatchObject([
      { state: "saved", cancelled: 0, error: null },
    ]);
    expect(linesIn(world)).toEqual(before);
  });

  it("that the ledger lacks is refused, at no charge and with nothing to resume", async () => {
    const { deps } = await workWorld();
    const reports = await cancel({ ids: ["nothing", ""], wait: null }, singleAccountDeps(deps));
    const messages = ['The ledger has no task "nothing".', "A task id is empty."];
    const no = { state: "unknown", charged: "no", cancelled: 0 };
    expect(reports).toMatchObject(messages.map((message) => ({ ...no, error: { type: "usage", message } })));
  });

  it("of the hosted service is refused, because there is no operation for that", async () => {
    const { deps } = await workWorld();
    const owned = await deps.ledger.begin(INTENT);
    await owned.file.record(accepted);
    deps.ledger.release(owned, true);
    const error = { type: "usage", message: expect.stringMatching(/cannot be cancelled/) };
    expect(await cancel({ ids: ["task-1"], wait: null }, singleAccountDeps(deps))).toMatchObject([
      { state: "accepted", charged: "yes", error },
    ]);
  });
});
