import { mkdir, readdir, rm, symlink, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { png, sha256 } from "../../support/images.ts";
import { AT, LINES } from "../../support/records.ts";
import { refuseReleases } from "../../support/refused-release.ts";
import { DAY_MS, type Left, leftWorld, REQUEST } from "../engine/again-world.ts";

const { accepted, completed, failed, refused, started } = LINES;
const WEEK_MS = 7 * DAY_MS;

describe("generate, with a task of the same request that is unfinished", () => {
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

  it("submits once if two processes come at once, and both have the image", async () => {
    const { run, as, processes, stateFolder, output, clock, jobs } = await leftWorld({
      work: {},
      lines: [refused],
      isFinished: true,
      clock: { ...systemClock, waits: [], advance: () => {} },
    });
    const { deps } = await as(processes.as(1), { stateFolder, output, clock });
    const reports = await Promise.all([run({ reuse: true }), run({ reuse: true }, deps)]);
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

describe("generate --max-credits, with a task of the same request that is to be continued", () => {
  const firstMade = [started, { ...completed, urls: [] }];

  it("counts what is still to be sent alone", async () => {
    const { run, provider } = await leftWorld({ work: { requests: 2 }, lines: firstMade, hasReply: true });
    const refusal = { error: { type: "budget_exceeded" }, state: "waiting" };
    expect(await run({ maxCredits: 0 })).toMatchObject(refusal);
    expect(provider?.jobs).toEqual([]);
    expect(await run({ maxCredits: 1 })).toMatchObject({ state: "saved", error: null });
    expect(provider?.jobs.map(({ index }) => index)).toEqual([1]);
  });

  it("refuses what has no price, continued or new", async () => {
    for (const again of [false, true]) {
      const { run, spec, provider } = await leftWorld({ work: {}, credits: null });
      const checked = { ...spec.checked, credits: null };
      const report = await run({ checked, again, maxCredits: 5 }).catch((error: unknown) => ({ error }));
      expect(report).toMatchObject({ error: { type: "budget_exceeded" } });
      expect(provider?.jobs).toEqual([]);
    }
  });
});
