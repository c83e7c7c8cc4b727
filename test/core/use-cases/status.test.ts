import { readdir } from "node:fs/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { singleAccountDeps, type TaskDeps } from "../../../src/core/engine/deps.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { type StatusSpec, status } from "../../../src/core/use-cases/status.ts";
import type { PollReply } from "../../../src/providers/provider.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import type { IntentTerms } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import { png } from "../../support/images.ts";
import { deadPort, liveService } from "../../support/live-server.ts";
import { INTENT, LINES } from "../../support/records.ts";
import { failure, type ServiceScript, success } from "../../support/scripted-server.ts";
import { replies } from "../../support/scripts.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { taskWorld, testIdentity } from "../../support/task-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { leaveImage, linesIn, workWorld } from "../engine/work-world.ts";

const { started, accepted, completed, failed, unknown, saved } = LINES;
const WAIT = { timeoutMs: 5000, schedule: fixedSchedule(1000) };
const UNKNOWN_ERROR = "image_generation.error.unknown_error";
const answering = (bytes: Buffer): ServiceScript => ({ poll: replies(bytes) });

async function statusOf(id: string, deps: TaskDeps, options: Partial<StatusSpec> = {}) {
  const named = { id, record: await deps.ledger.find(id) };
  const spec = { wait: null, destination: null, ...options };
  const [report] = await status([named], spec, singleAccountDeps(deps));
  if (report === undefined) throw new Error("no report");
  return report;
}

async function looking(
  script: ServiceScript = {},
  options: Partial<StatusSpec> = {},
  lines: Line[] = [],
  baseUrl?: string,
  ageMs = 0,
) {
  const server = await liveService(png(), script);
  const processes = someProcesses(1);
  const world = await taskWorld(baseUrl ?? server.baseUrl, { processes: processes.as(1) });
  if (lines.length > 0) {
    const service = testIdentity(server.baseUrl);
    const before = new Ledger(world.stateFolder, world.clock, processes.as(2));
    const intent = { ...INTENT, service, destination: world.destination };
    const owned = await before.begin(intent, { isSent: true });
    if (owned === "taken") throw new Error("an id of another task");
    onTestFinished(() => owned.file.close());
    for (const line of lines) await owned.file.record(line);
    before.release(owned, true);
  }
  world.clock.advance(ageMs);
  const report = await statusOf("task-1", world.deps, options);
  return { report, server, ...world };
}

describe("a poll of a task", () => {
  it("reports that it is completed, and where its image is, and saves nothing", async () => {
    const { report, server, output } = await looking();
    const urls = [`${server.origin}/files/1.png?signature=s3cret`];
    const completed = { taskId: "task-1", state: "completed", charged: "yes", urls, files: [], error: null };
    expect(report).toMatchObject(completed);
    expect(server.requests).toHaveLength(1);
    await expect(readdir(output)).rejects.toThrow();
  });

  it("that was saved keeps it saved, whatever the service still has of it", async () => {
    const { report } = await looking({}, {}, [accepted, completed, saved]);
    expect(report).toMatchObject({ state: "saved", charged: "yes", error: null });
  });

  it.each([
    [29_000, null],
    [31_000, { type: "service_error" }],
  ])(
    "that the service does not know is running for 30 s after its submit: after %d ms",
    async (ms, error) => {
      const { report } = await looking(answering(failure(UNKNOWN_ERROR)), {}, [accepted], undefined, ms);
      expect(report).toMatchObject({ state: "accepted", charged: "yes", error });
    },
  );

  it("at a service that is not there is a network error, and charges are as they were", async () => {
    const nobody = `http://127.0.0.1:${await deadPort()}/api`;
    const strange = await looking({}, {}, [], nobody);
    expect(strange.report).toMatchObject({ error: { type: "network", charged: "unknown" } });
    const own = await looking({}, {}, [accepted], nobody);
    expect(own.report).toMatchObject({ error: { type: "network", charged: "yes" } });
  });
});

describe("a task that the ledger has as failed", () => {
  it("is what the service says now, with no word of the failure", async () => {
    const { report } = await looking({}, {}, [accepted, failed]);
    expect(report).toMatchObject({ state: "completed", charged: "yes", error: null });
    expect(report.urls).toHaveLength(1);
  });

  it("can be running", async () => {
    for (const wait of [null, WAIT]) {
      const running = answering(success({ status: "processing" }));
      const { report } = await looking(running, { wait }, [accepted, failed]);
      expect(report).toMatchObject({ state: "accepted", error: null });
    }
  });

  it("stays failed where the service says so", async () => {
    const failing = answering(success({ status: "failed", errorCode: 9 }));
    const { report } = await looking(failing, {}, [accepted, failed]);
    expect(report).toMatchObject({ state: "failed", error: { type: "generation_failed" } });
  });
});

describe("a status that saves", () => {
  async function saving(script: ServiceScript, lines: Line[]) {
    const folder = await temporaryFolder();
    const destination = { kind: "folder", folder, template: "{task}", overwrite: false } as const;
    const { report, deps } = await looking(script, { destination }, lines);
    return { report, names: await readdir(folder), unfinished: await deps.ledger.unfinished() };
  }

  it.each<[string, Line[]]>([
    ["this machine's own, and files it as finished", [accepted]],
    ["which this machine knows nothing", []],
  ])("saves a completed task of %s", async (_whose, lines) => {
    const { report, names, unfinished } = await saving({}, lines);
    expect(report).toMatchObject({ state: "saved", error: null, files: [{ bytes: png().length }] });
    expect([names, unfinished]).toEqual([["task1.png"], []]);
  });
});

it("a request of unknown outcome has no task to poll: the service is not asked for the ledger's own name", async () => {
  const { deps, server } = await looking(answering(failure(UNKNOWN_ERROR)), {}, [unknown]);
  const asked = server.requests.length;
  const [entry] = await deps.ledger.unfinished();
  const id = entry?.kind === "task" ? entry.task.id : "";
  const report = await statusOf(id, deps);
  expect(report).toMatchObject({ state: "unknown", charged: "unknown", error: { type: "outcome_unknown" } });
  expect(server.requests).toHaveLength(asked);
});

describe("a status that saves, of a task that an ended process has left", () => {
  const two = { requests: 2 };
  const first = { ...started, request: 0 };
  const ofFirst = { accepted: { ...accepted, request: 0 }, made: { ...completed, urls: [], request: 0 } };

  async function saving(lines: Line[], work: Partial<IntentTerms>, wait = false) {
    const world = await workWorld({ work, images: work.requests ?? 1 });
    const id = await world.leave(lines);
    await leaveImage(id, world, png());
    const recover = vi.spyOn(world.provider, "recover");
    const server = await liveService(png());
    const poll = async (): Promise<PollReply> => ({
      outcome: "state",
      task: { status: "completed", urls: [`${server.origin}/files/1.png`] },
    });
    if (lines.some(({ type }) => type === "accepted")) Object.assign(world.provider, { poll });
    const { destination } = world;
    const report = await statusOf(id, world.deps, { destination, ...(wait && { wait: WAIT }) });
    return { ...world, report, recover, id };
  }

  it.each([
    ["is made", [first, ofFirst.made]],
    ["is accepted", [first, ofFirst.accepted]],
  ])("saves the first image, which %s, and never submits the second", async (_what, lines) => {
    for (const wait of [false, true]) {
      const { report, provider, output, clock } = await saving(lines, two, wait);
      const waiting = { state: "waiting", charged: "yes", error: { type: "pending" } };
      expect(report).toMatchObject({ ...waiting, files: [{ width: 8 }] });
      expect(await readdir(output)).toEqual(["a-fox.png"]);
      expect(provider.jobs).toEqual([]);
      expect(clock.monotonicMs()).toBe(0);
    }
  });

  it("neither submits nor recovers a free one, and nothing is written of it", async () => {
    const { report, provider, recover, stateFolder } = await saving([started], { isPaid: false }, true);
    expect(report).toMatchObject({ state: "waiting", charged: "no" });
    expect(provider.jobs).toEqual([]);
    expect(recover).not.toHaveBeenCalled();
    expect(linesIn({ stateFolder })).toEqual({ folder: "open", types: ["intent", "started"] });
  });

  it("recovers none of its requests that were sent, paid or free, while it saves the image of another", async () => {
    for (const isPaid of [true, false]) {
      const lines = [first, ofFirst.made, { ...started, request: 1, attempt: "1.1" }];
      const { report, provider, recover, output } = await saving(lines, { ...two, isPaid });
      expect(report.files).toMatchObject([{ width: 8 }]);
      expect(await readdir(output)).toEqual(["a-fox.png"]);
      expect([recover.mock.calls, provider.jobs]).toEqual([[], []]);
    }
  });

  it("says that a free one is running while its provider still works on it", async () => {
    const world = await workWorld({ work: { isPaid: false } });
    Object.assign(world.provider, { isAtWork: async () => true });
    const id = await world.leave([started]);
    expect(await statusOf(id, world.deps)).toMatchObject({ state: "started", charged: "no", error: null });
  });

  it("submits nothing of what waits, with or without a wait", async () => {
    const { report, provider } = await saving([], {}, true);
    expect(report).toMatchObject({ state: "waiting", charged: "no", error: null });
    expect(provider.jobs).toEqual([]);
  });
});
