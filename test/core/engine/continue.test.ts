import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { catchIntoReport, continueNamed, saveUnknownId } from "../../../src/core/engine/continue.ts";
import { singleAccountDeps, type UseCaseDeps } from "../../../src/core/engine/deps.ts";
import { dismissTask } from "../../../src/core/engine/dismiss.ts";
import { createIdReport } from "../../../src/core/engine/report.ts";
import { requireSameAccount } from "../../../src/core/errors.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { TaskFile } from "../../../src/store/task-file.ts";
import { type Destination, serviceTerms } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import type { SavedFile } from "../../../src/task/saved-file.ts";
import { png, sha256 } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { AT, LINES, recordOf } from "../../support/records.ts";
import { refuseReleases } from "../../support/refused-release.ts";
import { type Behaviour, failure, type ServiceScript, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning, taskIs } from "../../support/scripts.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { type TaskWorldOptions, taskWorld, testIdentity } from "../../support/task-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { words } from "../../support/words.ts";
import { linesIn, workWorld } from "./work-world.ts";

const { started, not_sent, refused, unknown, accepted, completed, failed } = LINES;
const WAIT = { timeoutMs: 5000, schedule: fixedSchedule(1000) };

interface Left {
  /** What was on disk when the process died. */
  lines?: Line[];
  /** The task's own destination, where it is not the output folder. */
  destination?: Partial<Destination>;
  script?: ServiceScript;
  /** Whether its request counts as sent. */
  isSent?: boolean;
  /** The process is not dead after all. */
  alive?: boolean;
  /** Bytes of a last line that was cut short. */
  torn?: string;
  /** Of the process that resumes it. */
  world?: TaskWorldOptions;
}

/** A task that process 2 left behind, and process 1 that resumes it. */
async function leftBehind({
  lines = [],
  destination = {},
  script = {},
  isSent = true,
  alive = false,
  torn = "",
  world: more = {},
}: Left) {
  const server = await liveService(png(), script);
  const processes = someProcesses(1, 2);
  const before = await taskWorld(server.baseUrl, { processes: processes.as(2) });
  const intent = {
    request: { prompt: "a fox", model: "gamma-image-2" },
    service: testIdentity(server.baseUrl),
    credits: 2,
    destination: { ...before.destination, ...destination } as Destination,
    ...serviceTerms({}),
  };
  const owned = await before.deps.ledger.begin(intent, { isSent });
  if (owned === "taken") throw new Error("an id of another task");
  onTestFinished(() => owned.file.close());
  for (const line of lines) await owned.file.record(line);
  if (torn !== "") await writeFile(owned.file.path, (await readFile(owned.file.path, "utf8")) + torn);
  if (!alive) processes.die(2);
  const { stateFolder, output } = before;
  const world = await taskWorld(server.baseUrl, { ...more, processes: processes.as(1), stateFolder, output });
  const fallback = { ...world.destination, folder: await temporaryFolder() } as Destination;
  const deps: UseCaseDeps = {
    ...singleAccountDeps(world.deps),
    async depsFor(intent, taskId) {
      requireSameAccount(intent, world.deps.connection.identity, taskId);
      return world.deps;
    },
  };
  const resume = (id = owned.task.id, override: Destination | null = null) =>
    resumeById(id, override, fallback, deps);
  return { resume, onDisk: () => linesIn(world), server, id: owned.task.id, fallback, ...world };
}

async function resumeById(
  id: string,
  destination: Destination | null,
  fallback: Destination,
  deps: UseCaseDeps,
) {
  const record = await deps.ledger.find(id);
  if (record) return continueNamed(record, { wait: WAIT, destination, sends: true }, deps);
  return catchIntoReport(createIdReport(id), () => saveUnknownId(id, destination ?? fallback, WAIT, deps));
}

const savedAt = (file: string): SavedFile => ({
  path: file,
  url: "https://cdn.example/1.png",
  mediaType: "image/png",
  bytes: png().length,
  sha256: sha256(png()),
  width: 8,
  height: 6,
});

describe("resuming a task of which only the intent is on disk", () => {
  it("never submits it again if it counts as sent: its outcome is unknown", async () => {
    const { resume, onDisk, server } = await leftBehind({});
    for (let round = 0; round < 2; round++) {
      const error = { type: "outcome_unknown", charged: "unknown" };
      expect(await resume()).toMatchObject({ state: "unknown", charged: "unknown", error });
    }
    expect(server.requests).toEqual([]);
    const types = words("intent taken unknown released");
    expect(onDisk()).toEqual({ folder: "open", types });
  });

  it.each([
    ["before it was sent", []],
    ["while it waited after a 429", [started, LINES.waiting]],
  ])("closes it as not sent if its process ended %s", async (_when, lines) => {
    const { resume, onDisk, server } = await leftBehind({ lines, isSent: false });
    expect(await resume()).toMatchObject({ state: "not_sent", charged: "no", error: { type: "network" } });
    expect(server.requests).toEqual([]);
    expect(onDisk().folder).toBe("done");
  });

  it.each([
    ["not sent", not_sent, "network"],
    ["refused", refused, "auth_required"],
  ])("and that it was %s puts its file away, says why, and submits nothing", async (what, line, type) => {
    const { resume, onDisk, server } = await leftBehind({ lines: [line], isSent: what === "refused" });
    expect(await resume()).toMatchObject({
      state: expect.stringMatching(/^(?:not_sent|refused)$/),
      charged: "no",
      error: { type },
    });
    expect(server.requests).toEqual([]);
    expect(onDisk().folder).toBe("done");
  });
});

describe("resuming a task that was accepted", () => {
  it("polls it at once, saves its image where it was to go, and submits nothing", async () => {
    const { resume, onDisk, server, output, clock } = await leftBehind({ lines: [accepted] });
    expect(await resume()).toMatchObject({
      state: "saved",
      taskId: "task-1",
      charged: "yes",
      error: null,
      files: [{ path: path.join(output, "a-fox.png"), sha256: sha256(png()) }],
    });
    expect(clock.waits).toEqual([0]);
    expect(server.submits()).toEqual([]);
    expect(onDisk()).toEqual({ folder: "done", types: words("intent accepted taken completed saved") });
  });

  it.each<[string, object, Behaviour, "open" | "done", string[]]>([
    [
      "leaves it for another time where it is still running",
      { state: "accepted", error: { type: "pending" } },
      stillRunning,
      "open",
      ["intent", "accepted"],
    ],
    [
      "ends it where it has failed",
      { state: "failed", charged: "unknown", error: { type: "generation_failed" } },
      taskIs({ status: "failed", errorCode: 3 }),
      "done",
      words("intent accepted taken failed"),
    ],
    [
      "leaves it where the service refuses the key",
      { state: "accepted", charged: "yes", error: { type: "auth_required" } },
      replies(failure("login_required", 401)),
      "open",
      ["intent", "accepted"],
    ],
  ])("%s", async (_what, report, poll, folder, types) => {
    const { resume, onDisk } = await leftBehind({ lines: [accepted], script: { poll } });
    for (let time = 0; time < 2; time++) {
      expect(await resume()).toMatchObject(report);
      expect(onDisk()).toEqual({ folder, types });
    }
  });

  it("saves in its folder what was to go to standard output, which has no reader any more", async () => {
    const { resume, output, written } = await leftBehind({
      lines: [accepted],
      destination: { kind: "stdout" },
    });
    expect(await resume()).toMatchObject({ files: [{ path: path.join(output, "a-fox.png") }] });
    expect(written).toEqual([]);
  });

  it("returns a saved one whose process is still alive: an agent's session, or a program of its own", async () => {
    const folder = await temporaryFolder();
    const file = path.join(folder, "a-fox.png");
    await writeFile(file, png());
    const lines: Line[] = [accepted, completed, { type: "saved", at: AT, files: [savedAt(file)] }];
    const { resume, server } = await leftBehind({ lines, alive: true });
    const files = [{ path: file }];
    expect(await resume()).toMatchObject({ state: "saved", charged: "yes", files, error: null });
    expect(server.requests).toEqual([]);
  });
});

describe("resuming a task that was completed", () => {
  it("asks for a fresh URL rather than use the old one", async () => {
    const { resume, server } = await leftBehind({ lines: [accepted, completed] });
    expect(await resume()).toMatchObject({ error: null, state: "saved" });
    expect(server.requests.map(({ target }) => target.split("?")[0])).toEqual([
      "/api/generate-image",
      "/files/1.png",
    ]);
  });

  it.each([
    ["is unknown all of a sudden", failure("image_generation.error.unknown_error")],
    ["is running again", success({ status: "processing" })],
  ])("leaves it to be resumed where it %s", async (_what, answer) => {
    const { resume, onDisk } = await leftBehind({
      lines: [accepted, completed],
      script: { poll: replies(answer) },
    });
    expect(await resume()).toMatchObject({ charged: "yes", state: "completed", error: { type: "pending" } });
    expect(onDisk().folder).toBe("open");
  });
});

describe("resuming a task that was finished", () => {
  it("saves one that had failed and was completed since, once, and notes it", async () => {
    const poll = inTurn(taskIs({ status: "failed", errorCode: 3 }), completedAt("/1.png"));
    const { resume, onDisk, output, deps, id } = await leftBehind({
      lines: [accepted, failed],
      script: { poll },
    });
    await resume();
    expect(await deps.ledger.read(id)).toMatchObject({ task: { state: "failed" } });
    const reports = await Promise.all([resume("task-1"), resume("task-1")]);
    // The one that comes second finds it taken, or saved.
    const errors = reports.map(({ error }) => error?.type ?? null);
    expect(errors).toContain(null);
    for (const type of errors) expect([null, "pending"]).toContain(type);
    expect(await readdir(output)).toEqual(["a-fox.png"]);
    const { folder, types } = onDisk();
    expect(folder).toBe("done");
    expect([...new Set(types)]).toEqual(words("intent accepted failed taken completed saved"));
    expect(await deps.ledger.read(id)).toMatchObject({ task: { state: "saved" } });
    expect(await deps.ledger.findByFile(sha256(png()))).toMatchObject({ id });
  });
});

describe("resuming a task that the ledger does not hold", () => {
  it("polls it at the service, and saves it", async () => {
    const { resume, fallback, server } = await leftBehind({});
    const report = await resume("elsewhere-42");
    expect(report).toMatchObject({ ledgerId: null, taskId: "elsewhere-42", state: "saved", error: null });
    expect(await readdir((fallback as { folder: string }).folder)).toEqual(["image.png"]);
    expect(server.requests[0]?.target).toBe("/api/generate-image?taskId=elsewhere-42");
    expect(server.submits()).toEqual([]);
  });
});

describe("a request of unknown outcome", () => {
  it("is dismissed once that is on the disk", async () => {
    const { deps, id } = await leftBehind({ lines: [unknown] });
    const record = await deps.ledger.find(id);
    if (record === null) throw new Error("no task");
    const dismissing = () => dismissTask(record, { why: "by the user", replacement: null }, deps.ledger);
    const full = Object.assign(new Error("full"), { code: "ENOSPC" });
    const recording = vi.spyOn(TaskFile.prototype, "record").mockRejectedValue(full);
    // What is not on the disk is not done: the next resume finds it again.
    await expect(dismissing()).rejects.toMatchObject({ type: "save_failed" });
    expect(await deps.ledger.unfinished()).toMatchObject([{ task: { state: "unknown" } }]);
    recording.mockRestore();
    expect(await dismissing()).toMatchObject({ state: "dismissed", charged: "unknown" });
    expect(await deps.ledger.unfinished()).toEqual([]);
  });

  it("is not dismissed once its outcome is known, even where the disk does not release it cleanly", async () => {
    const { deps, id } = await leftBehind({ lines: [accepted] });
    const record = await deps.ledger.find(id);
    if (record === null) throw new Error("no task");
    refuseReleases(deps.ledger);
    const readBefore = recordOf([{ ...unknown, attempt: "1.0" }]);
    const dismissing = dismissTask(
      { ...readBefore, id: record.id },
      { why: "by the user", replacement: null },
      deps.ledger,
    );
    await expect(dismissing).rejects.toMatchObject({ type: "usage" });
  });
});

/** A task whose image a provider has sent, and that was saved. */
async function savedTask() {
  const world = await workWorld({ work: { isPaid: false } });
  const [file] = (await world.generate()).files;
  const record = await world.deps.ledger.find("task_1");
  if (!file?.path || record === null) throw new Error("not saved");
  const { path: image } = file;
  const resume = (to: string | null = null) => {
    const destination = to === null ? null : ({ kind: "file", path: to, overwrite: false } as const);
    const wait = { timeoutMs: null, schedule: null };
    return continueNamed(record, { wait, destination, sends: true }, singleAccountDeps(world.deps));
  };
  return { ...world, image, resume };
}

describe("an image that a provider had sent itself, and that is wanted again", () => {
  it("is copied from its file to another place, and costs what it did", async () => {
    const { resume, output, provider } = await savedTask();
    const copy = path.join(output, "copy.png");
    expect(await resume(copy)).toMatchObject({ error: null, charged: "no", files: [{ path: copy }] });
    expect(await readFile(copy)).toEqual(png());
    expect(provider.jobs).toHaveLength(1);
  });

  it("is lost where its file is gone: nothing is asked, and no new charge is spoken of", async () => {
    const { resume, image, provider } = await savedTask();
    await rm(image);
    const { error } = await resume();
    expect(error).toMatchObject({ type: "save_failed", charged: "no" });
    expect(error?.message).toMatch(
      /no longer where it was saved, and could not be saved again\. Its provider/,
    );
    expect(error?.hint).not.toContain("charge");
    expect(provider.jobs).toHaveLength(1);
  });
});
