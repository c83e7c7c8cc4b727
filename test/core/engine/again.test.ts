import { mkdir, readdir, readFile, rm, symlink, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  type Again,
  findReusable,
  findUnfinished,
  type Standing,
  standingOf,
} from "../../../src/core/engine/again.ts";
import type { Destination } from "../../../src/task/intent.ts";
import { png, sha256 } from "../../support/images.ts";
import { AT, LINES } from "../../support/records.ts";
import { refuseReleases } from "../../support/refused-release.ts";
import { pause } from "../../support/scripts.ts";
import { DAY_MS, type Left, leftWorld, REQUEST } from "./again-world.ts";

const { started, waiting, accepted, completed, failed, unknown, refused, not_sent, dismissed } = LINES;
const WEEK_MS = 7 * DAY_MS;
const saved = {
  ...LINES.saved,
  files: [{ path: "/a.png", url: null, mediaType: "image/png", bytes: 9, sha256: "0", width: 8, height: 6 }],
};

type Kind = Again["kind"] | "none, warned";

/** What a task is to its request, what `generate` does about it, and what `--reuse` does. */
type Row = [what: string, left: Left, standing: Standing, generate: Kind, reuse: Kind];

const AT_SERVICE: Row[] = [
  ["is saved", { lines: [accepted, completed, saved], isFinished: true }, "saved", "none", "saved"],
  ["is accepted", { lines: [accepted] }, "resumable", "mine", "mine"],
  ["is made", { lines: [accepted, completed] }, "resumable", "mine", "mine"],
  ["is a week old", { lines: [accepted], agoMs: WEEK_MS }, "resumable", "mine", "mine"],
  ["is older than a week", { lines: [accepted], agoMs: WEEK_MS + 1 }, "old", "none, warned", "mine"],
  ["is a living process's", { lines: [accepted], process: "alive" }, "alive", "none", "theirs"],
  ["is being submitted by a living process", { process: "alive" }, "alive", "none", "theirs"],
  ["waits after a 429", { lines: [waiting], process: "alive" }, "alive", "none", "theirs"],
  [
    "may be another machine's",
    { lines: [accepted], process: "elsewhere" },
    "out of sight",
    "theirs",
    "theirs",
  ],
  ["may be being submitted elsewhere", { process: "elsewhere" }, "out of sight", "theirs", "theirs"],
  [
    "was another machine's, until its time was over",
    { lines: [accepted], process: "elsewhere", agoMs: 61_000 },
    "resumable",
    "mine",
    "mine",
  ],
  ["was being submitted elsewhere", { process: "elsewhere", agoMs: 61_000 }, "unknown", "ask", "ask"],
  ["was being submitted when its process ended", {}, "unknown", "ask", "ask"],
  ["has lost its reply", { lines: [unknown] }, "unknown", "ask", "ask"],
  ["was never sent, and its process has ended", { isSent: false }, "none", "none", "none"],
  ["waited after a 429 when its process ended", { lines: [waiting] }, "none", "none", "none"],
  ["has failed", { lines: [accepted, failed], isFinished: true }, "failed", "none", "none"],
  ["was refused", { lines: [refused], isFinished: true }, "none", "none", "none"],
  ["was closed as not sent", { lines: [not_sent], isSent: false, isFinished: true }, "none", "none", "none"],
  ["was dismissed", { lines: [unknown, dismissed], isFinished: true }, "none", "none", "none"],
];

const FREE = { isPaid: false };
const ONE_LOST = [
  started,
  { ...completed, urls: [] },
  { ...started, request: 1, attempt: "1.1" },
  { ...unknown, request: 1, attempt: "1.1" },
];

const AT_GENERATOR: Row[] = [
  ["waits to be sent, and its process has ended", { work: {} }, "resumable", "mine", "mine"],
  ["waits in a living process", { work: {}, process: "alive" }, "alive", "none", "theirs"],
  ["may wait elsewhere", { work: {}, process: "elsewhere" }, "out of sight", "theirs", "theirs"],
  ["waits, and was cancelled", { work: {}, isCancelled: true }, "none", "none", "none"],
  [
    "waits in a living process, and was cancelled",
    { work: {}, process: "alive", isCancelled: true },
    "none",
    "none",
    "none",
  ],
  [
    "was sent for nothing, and was cancelled",
    { work: FREE, lines: [started], isCancelled: true },
    "resumable",
    "mine",
    "mine",
  ],
  [
    "was sent by a living process",
    { work: {}, lines: [started], process: "alive" },
    "alive",
    "none",
    "theirs",
  ],
  [
    "may be sent from elsewhere",
    { work: FREE, lines: [started], process: "elsewhere" },
    "out of sight",
    "theirs",
    "theirs",
  ],
  ["was sent for money by a dead process", { work: {}, lines: [started] }, "unknown", "ask", "ask"],
  [
    "was sent for money 8 days ago",
    { work: {}, lines: [started], agoMs: 8 * DAY_MS },
    "unknown",
    "ask",
    "ask",
  ],
  [
    "was sent for money, and something has arrived",
    { work: {}, lines: [started], hasReply: true },
    "resumable",
    "mine",
    "mine",
  ],
  ["was sent for nothing by a dead process", { work: FREE, lines: [started] }, "resumable", "mine", "mine"],
  ["has one of its replies lost", { work: { requests: 2 }, lines: ONE_LOST }, "partly unknown", "ask", "ask"],
];

describe.each([
  ["at the service", AT_SERVICE],
  ["at a generator", AT_GENERATOR],
])("an earlier task %s for a request that comes again", (_where, rows) => {
  it.each(rows)("that %s", async (_what, left, standing, generated, reused) => {
    const { deps, request, id } = await leftWorld(left);
    const task = await deps.ledger.find(id);
    if (task === null) throw new Error("no task");
    expect(standingOf(await deps.ledger.asItStands(task), deps.ledger)).toBe(standing);
    const unfinished = await findUnfinished(request, deps, () => false);
    expect(wordOf(unfinished)).toBe(generated);
    expect(wordOf(await findReusable(request, deps))).toBe(reused);
  });
});

function wordOf(again: Again): Kind {
  return again.kind === "none" && again.warn !== null ? "none, warned" : again.kind;
}

describe("generate, with a task of the same request that is unfinished", () => {
  it("continues it, and says so", async () => {
    const { run, output, events, jobs } = await leftWorld({ lines: [accepted] });
    const files = [{ path: path.join(output, "a-fox.png") }, { path: path.join(output, "a-fox-2.png") }];
    expect(await run()).toMatchObject({ taskId: "task-1", state: "saved", reused: true, files });
    expect(events[0]).toEqual({ type: "continuing", taskId: "task-1", charged: "yes" });
    expect(jobs()).toBe(0);
  });

  it("leaves it as it is without a wait, even if the disk does not release it cleanly", async () => {
    const { run, deps } = await leftWorld({ lines: [accepted] });
    refuseReleases(deps.ledger);
    expect(await run({ wait: null })).toMatchObject({ taskId: "task-1", state: "accepted", error: null });
  });

  it.each([
    ["elsewhere, all of it", true, ["new/hare.png", "new/hare-2.png"], 1],
    ["in its own place, no image twice", false, ["a-fox.png", "a-fox-2.png"], 0],
  ])("saves it %s", async (_what, isElsewhere, expected, downloads) => {
    const { run, output, owned, before, server, destination } = await leftWorld({ lines: [accepted] });
    const [first, url] = [path.join(output, "a-fox.png"), `${server.origin}/1.png`];
    const file = { mediaType: "image/png", bytes: png().length, sha256: sha256(png()), width: 1, height: 1 };
    await mkdir(output, { recursive: true });
    await writeFile(first, png());
    await owned.file.record({ ...completed, urls: [url, `${server.origin}/2.png`] });
    await owned.file.record({ type: "partly_saved", at: AT, files: [{ path: first, url, ...file }, null] });
    before.deps.ledger.release(owned, true);
    const other = { kind: "file", path: path.join(output, "new/hare.png"), overwrite: false } as const;
    const report = await run({ destination: isElsewhere ? other : destination });
    expect(report.files.map((each) => path.relative(output, each.path ?? ""))).toEqual(expected);
    expect(server.requests.filter(({ target }) => target === "/1.png")).toHaveLength(downloads);
  });

  it("submits nothing if a task of the ledger cannot be read, which may be its own", async () => {
    const { run, stateFolder, id, jobs } = await leftWorld({ lines: [accepted] });
    const file = path.join(stateFolder, "tasks", "open", `${id}.jsonl`);
    await unlink(file);
    await symlink(file, file);
    await expect(run()).rejects.toMatchObject({ type: "save_failed", charged: "no" });
    await unlink(file);
    await writeFile(file, "no task\n");
    const message = expect.stringContaining("cannot be read");
    await expect(run()).rejects.toMatchObject({ type: "save_failed", message });
    expect(jobs()).toBe(0);
    await unlink(file);
    await writeFile(path.join(stateFolder, "tasks", "open", "notes.txt"), "no task\n");
    await run();
    expect(jobs()).toBe(1);
  });

  it("refuses an exact path that is taken, and asks nobody", async () => {
    const { run, output, server } = await leftWorld({ lines: [accepted] });
    const taken = path.join(output, "hare.png");
    await mkdir(output, { recursive: true });
    await writeFile(taken, "mine");
    const destination: Destination = { kind: "file", path: taken, overwrite: false };
    const error = { type: "usage", message: expect.stringContaining("exists already") };
    expect(await run({ destination }).catch((each: unknown) => each)).toMatchObject(error);
    expect(server.requests).toEqual([]);
  });

  it("submits nothing if its outcome is unknown: the user decides", async () => {
    const { run, id, jobs } = await leftWorld({ lines: [unknown] });
    const error = { type: "outcome_unknown", message: expect.stringContaining(id) };
    expect(await run()).toMatchObject({ charged: "unknown", reused: true, error });
    expect(jobs()).toBe(0);
    expect(await run({ again: true })).toMatchObject({ state: "saved", error: null });
    expect(jobs()).toBe(1);
  });

  it("submits nothing while another machine may have it", async () => {
    const { run, id, jobs } = await leftWorld({ lines: [accepted], process: "elsewhere" });
    const error = { type: "pending", charged: "yes", message: expect.stringContaining(id) };
    expect(await run()).toMatchObject({ charged: "yes", reused: true, error });
    expect(jobs()).toBe(0);
  });

  it.each<[string, Left, string[]]>([
    ["that a living process has", { lines: [accepted], process: "alive" }, []],
    ["that has failed", { lines: [accepted, failed], isFinished: true }, []],
    [
      "that is older than a week",
      { lines: [accepted], agoMs: WEEK_MS + 1 },
      [expect.stringContaining("task-1")],
    ],
  ])("submits one more like a task %s", async (_what, left, said) => {
    const { run, warnings, jobs } = await leftWorld(left);
    const report = await run();
    expect(report).toMatchObject({ state: "saved", error: null });
    expect([report.reused, warnings, jobs()]).toEqual([undefined, said, 1]);
  });

  it("submits another request: another prompt, key or base URL", async () => {
    const { run, deps, spec, jobs } = await leftWorld({ lines: [accepted] });
    const checked = { ...spec.checked, request: { ...REQUEST, prompt: "a hare" } };
    const { connection } = deps;
    const { identity } = connection;
    const as = (more: Partial<typeof identity>) => ({
      ...deps,
      connection: { ...connection, identity: { ...identity, ...more } },
    });
    await run({ checked });
    await run({}, as({ keyId: "0" }));
    await run({}, as({ baseUrl: "https://other.example/api" }));
    expect(jobs()).toBe(3);
  });
});

describe("generate --reuse", () => {
  it("puts a saved image under the name that is wanted, at no charge", async () => {
    for (const isPaid of [true, false]) {
      const { run, output, provider } = await leftWorld({ work: { isPaid } });
      await run();
      const destination = { kind: "file", path: path.join(output, "copy.png"), overwrite: false } as const;
      const files = [{ path: destination.path }];
      const report = { charged: isPaid ? "yes" : "no", error: null, files, reused: true };
      expect(await run({ reuse: true, destination })).toMatchObject(report);
      expect(provider?.jobs).toHaveLength(1);
    }
  });

  it("downloads it from its URL if its file is gone, without a poll", async () => {
    const { run, output, provider, server } = await leftWorld({ work: {} });
    const url = `${server.origin}/files/1.png`;
    Object.assign(provider ?? {}, { images: async () => [{ kind: "url", url }] });
    const [file] = (await run()).files;
    await rm(file?.path ?? "");
    const destination = { kind: "file", path: path.join(output, "copy.png"), overwrite: false } as const;
    expect(await run({ reuse: true, destination })).toMatchObject({
      error: null,
      files: [{ path: destination.path }],
    });
    expect(await readFile(destination.path)).toEqual(png());
    expect(provider?.jobs).toHaveLength(1);
  });

  it("waits for the process that has it, and returns the same", async () => {
    const { run, output, owned, before, events, jobs, clock, server } = await leftWorld({
      lines: [accepted],
      process: "alive",
    });
    const file = { path: path.join(output, "a-fox.png"), url: `${server.origin}/1.png`, width: 8, height: 6 };
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms, signal) => {
      if (events.length === 1 && (await before.deps.ledger.read(owned.task.id))?.kind === "task") {
        await mkdir(output, { recursive: true });
        await writeFile(file.path, png());
        const facts = { mediaType: "image/png", bytes: png().length, sha256: sha256(png()) };
        const end = { ...LINES.saved, files: [{ ...file, ...facts }] };
        await owned.file.record(completed);
        await owned.file.record(end);
        const entry = await before.deps.ledger.read(owned.task.id);
        if (entry?.kind === "task" && before.deps.ledger.isOpen(owned.task.id))
          await before.deps.ledger.end(owned, entry.task);
      }
      await sleep(ms, signal);
    };
    const report = await run({ reuse: true });
    expect(events[0]).toEqual({ type: "claimed_elsewhere", id: "task-1" });
    expect(report).toMatchObject({
      taskId: "task-1",
      state: "saved",
      reused: true,
      files: [{ path: file.path }],
    });
    expect(jobs()).toBe(0);
  });

  it("reports an unknown outcome, and submits nothing", async () => {
    const { run, jobs } = await leftWorld({ lines: [unknown] });
    expect(await run({ reuse: true })).toMatchObject({ reused: true, error: { type: "outcome_unknown" } });
    expect(jobs()).toBe(0);
  });

  it("submits a request that was never charged", async () => {
    const { run, jobs } = await leftWorld({ lines: [refused], isFinished: true });
    expect(await run({ reuse: true })).toMatchObject({ state: "saved", error: null });
    expect(jobs()).toBe(1);
  });

  it("submits once if two processes come at once, and both have the image", async () => {
    const { run, as, processes, stateFolder, output, clock, jobs } = await leftWorld({
      work: {},
      lines: [refused],
      isFinished: true,
    });
    const { deps } = await as(processes.as(1), { stateFolder, output, clock });
    // Each looks again and again while the other is at work.
    const sleep = clock.sleep.bind(clock);
    clock.sleep = (ms, signal) => pause(1).then(() => sleep(ms, signal));
    const wait = { timeoutMs: 600_000, schedule: null };
    const reports = await Promise.all([run({ reuse: true, wait }), run({ reuse: true, wait }, deps)]);
    for (const report of reports) expect(report).toMatchObject({ state: "saved", error: null });
    expect(jobs()).toBe(1);
    expect(await readdir(output)).toEqual(["a-fox.png"]);
  });

  it("sends nothing if the disk cannot tell whether another process submits the same, and leaves no task", async () => {
    const { run, stateFolder, deps, jobs } = await leftWorld({ lines: [refused], isFinished: true });
    await rm(path.join(stateFolder, "tasks", "requests"), { recursive: true, force: true });
    await writeFile(path.join(stateFolder, "tasks", "requests"), "a file in its place");
    const report = await run({ reuse: true }).catch((error: unknown) => ({ error }));
    expect(report.error).toMatchObject({ type: "save_failed", charged: "no" });
    expect(await deps.ledger.unfinished()).toEqual([]);
    expect(jobs()).toBe(0);
  });
});
