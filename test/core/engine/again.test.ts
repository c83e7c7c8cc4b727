import { mkdir, symlink, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { continueEarlier } from "../../../src/core/engine/continue.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import type { Destination } from "../../../src/task/intent.ts";
import type { TaskEvent } from "../../../src/task/task.ts";
import { png, sha256 } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { AT, EVENTS, UNTIL } from "../../support/records.ts";
import { refuseReleases } from "../../support/refused-release.ts";
import { completedAt } from "../../support/scripts.ts";
import { identity, someProcesses } from "../../support/some-processes.ts";
import { taskWorld, testIdentity } from "../../support/task-world.ts";
import { workWorld } from "./work-world.ts";

const { accepted, completed, not_sent, refused, unknown, failed } = EVENTS;
const DAY_MS = 24 * 60 * 60_000;
const REQUEST = { prompt: "a fox", model: "gamma-image-2" };

/** A task for `REQUEST` that process 2 has left at these events, and process 1 that submits it. */
async function leftAt(events: TaskEvent[], alive = false) {
  const server = await liveService(png(), { poll: completedAt("/1.png", "/2.png") });
  const processes = someProcesses(1, 2);
  const before = await taskWorld(server.baseUrl, { processes: processes.as(2) });
  const { destination, stateFolder, output, clock } = before;
  const service = testIdentity(server.baseUrl);
  const owned = await before.deps.ledger.begin({ request: REQUEST, service, credits: 2, destination });
  onTestFinished(() => owned.file.close());
  for (const event of events) await owned.file.record(event);
  if (!alive) processes.die(2);
  const world = await taskWorld(server.baseUrl, { processes: processes.as(1), stateFolder, output, clock });
  const warnings: string[] = [];
  const wait = { timeoutMs: 5000, schedule: fixedSchedule(1000) };
  const again = (request = REQUEST, to: Destination = destination, identity = service) => {
    const deps = { ...world.deps, connection: { ...world.deps.connection, identity } };
    const warn = async (message: string) => void warnings.push(message);
    return continueEarlier(request, { destination: to, wait }, deps, warn);
  };
  return { ...world, again, warnings, server, service, id: owned.record.id };
}

describe("a request that is submitted again", () => {
  it("continues its task where that is charged and unfinished, and says so", async () => {
    const { again, output, events } = await leftAt([accepted]);
    const files = [{ path: path.join(output, "a-fox.png") }, { path: path.join(output, "a-fox-2.png") }];
    expect(await again()).toMatchObject({ taskId: "task-1", state: "saved", reused: true, files });
    expect(events[0]).toEqual({ type: "continuing", taskId: "task-1", charged: "yes" });
  });

  it("is left as it is where nothing is waited for, even where the disk does not release it cleanly", async () => {
    const { deps, destination } = await leftAt([accepted]);
    refuseReleases(deps.ledger);
    const report = await continueEarlier(REQUEST, { destination, wait: null }, deps, async () => {});
    expect(report).toMatchObject({ taskId: "task-1", state: "accepted", error: null });
  });

  it("saves it where the images are wanted now, and in the same place downloads no image twice", async () => {
    const saved = { mediaType: "image/png", bytes: png().length, sha256: sha256(png()), width: 1, height: 1 };
    for (const elsewhere of [false, true]) {
      const { again, output, destination, server, deps, id } = await leftAt([accepted]);
      const [first, url] = [path.join(output, "a-fox.png"), `${server.origin}/1.png`];
      await mkdir(output, { recursive: true });
      await writeFile(first, png());
      const owned = await deps.ledger.read(id);
      if (owned?.kind !== "task") throw new Error("no task");
      const task = await deps.ledger.claim(owned.record);
      if (typeof task === "string") throw new Error(task);
      await task.file.record({ ...completed, urls: [url, `${server.origin}/2.png`] });
      await task.file.record({ type: "partly_saved", at: AT, files: [{ path: first, url, ...saved }, null] });
      await task.release();
      const other = { kind: "file", path: path.join(output, "new/hare.png"), overwrite: false } as const;
      const report = await again(REQUEST, elsewhere ? other : destination);
      const names = report?.files.map((file) => path.relative(output, file.path ?? ""));
      expect(names).toEqual(elsewhere ? ["new/hare.png", "new/hare-2.png"] : ["a-fox.png", "a-fox-2.png"]);
      expect(server.requests.filter((request) => request.target === "/1.png")).toHaveLength(
        elsewhere ? 1 : 0,
      );
    }
  });

  it("is not submitted where a task of the ledger cannot be read, which may be its own", async () => {
    const { again, stateFolder, id } = await leftAt([accepted]);
    const file = path.join(stateFolder, "tasks", "open", `${id}.jsonl`);
    await unlink(file);
    await symlink(file, file);
    await expect(again()).rejects.toMatchObject({ type: "save_failed", charged: "no" });
    await unlink(file);
    await writeFile(file, "no task\n");
    await expect(again()).rejects.toMatchObject({
      type: "save_failed",
      message: expect.stringContaining("cannot be read"),
    });
    await unlink(file);
    await writeFile(path.join(stateFolder, "tasks", "open", "notes.txt"), "no task\n");
    expect(await again()).toBeNull();
  });

  it("is refused where its exact path is taken", async () => {
    const { again, output, server } = await leftAt([accepted]);
    const taken = path.join(output, "hare.png");
    await mkdir(output, { recursive: true });
    await writeFile(taken, "mine");
    const error = await again(REQUEST, { kind: "file", path: taken, overwrite: false }).catch((each) => each);
    expect(error).toMatchObject({ type: "usage", message: expect.stringContaining("exists already") });
    expect(server.requests).toEqual([]);
  });

  it("is not submitted where the outcome of the earlier one is unknown", async () => {
    for (const events of [[], [unknown]]) {
      const { again, id } = await leftAt(events);
      const error = { type: "outcome_unknown", message: expect.stringContaining(id) };
      expect(await again()).toMatchObject({ charged: "unknown", reused: true, error });
    }
  });

  it.each<[string, TaskEvent[], boolean]>([
    ["a living process has its task", [accepted], true],
    ["a living process is submitting it", [], true],
    ["it was never sent", [not_sent], false],
    ["it was refused", [refused], false],
    ["its task has failed", [accepted, failed], false],
  ])("is submitted without a warning where %s", async (_what, events, alive) => {
    const { again, warnings, server } = await leftAt(events, alive);
    expect([await again(), warnings, server.requests]).toEqual([null, [], []]);
  });

  it("continues a task of a week ago; an older one is named in a warning, and the request submitted", async () => {
    const { again, clock, warnings } = await leftAt([accepted]);
    clock.advance(7 * DAY_MS + 1000);
    expect(await again()).toBeNull();
    expect(warnings).toEqual([expect.stringContaining("task-1")]);
    const recent = await leftAt([accepted]);
    recent.clock.advance(7 * DAY_MS - 60_000);
    expect(await recent.again()).toMatchObject({ taskId: "task-1", state: "saved" });
  });

  it("is another request with another prompt, key or base URL", async () => {
    const { again, service, destination } = await leftAt([accepted]);
    const others = [
      again({ ...REQUEST, prompt: "a hare" }),
      again(REQUEST, destination, { ...service, keyId: "0" }),
      again(REQUEST, destination, { ...service, baseUrl: "https://other.example/api" }),
    ];
    expect(await Promise.all(others)).toEqual([null, null, null]);
  });
});

describe("a request at the user's own generator that is submitted again", () => {
  const elsewhere = identity(2, "another");

  it.each([0, 8])("is not sent where a killed process had sent it %i days ago, for money", async (days) => {
    const { deps, destination, leave, provider, clock } = await workWorld();
    const id = await leave([{ ...EVENTS.started, by: identity(2) }]);
    clock.advance(days * DAY_MS);
    const spec = { destination, wait: { timeoutMs: null, schedule: null } };
    const report = await continueEarlier({ prompt: "a fox", model: "flux" }, spec, deps, async () => {});
    const message = expect.stringMatching(
      `identical request \\(${id}\\) was sent before, and its reply was lost`,
    );
    expect(report).toMatchObject({ charged: "unknown", error: { type: "outcome_unknown", message } });
    expect(provider.jobs).toEqual([]);
  });

  it.each<[string, TaskEvent[], string, boolean]>([
    ["was sent from there", [{ ...EVENTS.started, by: elsewhere }], "unknown", true],
    ["waits for its turn there", [{ ...EVENTS.waiting, by: elsewhere, until: UNTIL }], "no", true],
    ["is free, and was sent from there", [{ ...EVENTS.started, by: elsewhere }], "no", false],
  ])(
    "is not sent while another machine may have its task, which %s",
    async (_what, events, charged, isPaid) => {
      const { deps, destination, leave, provider } = await workWorld({ work: { isPaid } });
      const id = await leave(events);
      const spec = { destination, wait: { timeoutMs: null, schedule: null } };
      const report = await continueEarlier({ prompt: "a fox", model: "flux" }, spec, deps, async () => {});
      const error = { type: "pending", charged, message: expect.stringContaining(id) };
      expect(report).toMatchObject({ charged, reused: true, error });
      expect(provider.jobs).toEqual([]);
    },
  );
});
