import { appendFileSync, readdirSync, statSync, unlinkSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { submitNew, type TaskSpec } from "../../../src/core/engine/begin.ts";
import type { TaskProgressEvent } from "../../../src/core/engine/events.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { filesWithKey } from "../../support/canary.ts";
import { png, sha256 } from "../../support/images.ts";
import { deadPort, liveService } from "../../support/live-server.ts";
import { failure, response, type ServiceScript, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, reset, taskIs } from "../../support/scripts.ts";
import { type TaskWorldOptions, TEST_KEY, taskWorld } from "../../support/task-world.ts";
import { tinyDisk } from "../../support/tiny-disk.ts";
import { words } from "../../support/words.ts";
import { linesIn } from "./work-world.ts";

const CHECKED = {
  request: { prompt: "a fox", model: "gamma-image-2" },
  credits: 2,
  warnings: ["The cost is an estimate."],
};
const WAIT = { timeoutMs: 10_000, schedule: fixedSchedule(1000) };

async function generating(
  script: ServiceScript = {},
  spec: Partial<TaskSpec> = {},
  options: TaskWorldOptions & { baseUrl?: string } = {},
) {
  const server = await liveService(png(), script);
  const world = await taskWorld(options.baseUrl ?? server.baseUrl, options);
  const run = () =>
    submitNew({ checked: CHECKED, destination: world.destination, wait: WAIT, ...spec }, world.deps);
  return { run, server, ...world };
}

describe("generating an image", () => {
  it("submits it, waits for it, saves it, and reports it", async () => {
    const { run, output, stateFolder, server, destination } = await generating();
    const report = await run();
    expect(report).toMatchObject({
      ledgerId: expect.stringMatching(/^\d{8}T/),
      taskId: "task-1",
      state: "saved",
      request: CHECKED.request,
      credits: 2,
      charged: "yes",
      urls: [`${server.origin}/files/1.png?signature=s3cret`],
      files: [{ path: path.join(output, "a-fox.png"), sha256: sha256(png()) }],
      elapsedMs: 1000,
      warnings: CHECKED.warnings,
      error: null,
    });
    expect((await readFile(path.join(output, "a-fox.png"))).equals(png())).toBe(true);
    expect(await readdir(output)).toEqual(["a-fox.png"]);
    expect(destination.overwrite).toBe(false);
    const types = ["intent", "accepted", "completed", "saved"];
    expect(linesIn({ stateFolder })).toEqual({ folder: "done", types });
  });

  it("makes no folder for the reply of a service that answers with an id", async () => {
    const { run, stateFolder } = await generating();
    await run();
    expect(await readdir(path.join(stateFolder, "tasks"))).not.toContain("work");
  });

  it("reports each step once it is done", async () => {
    const { run, events } = await generating();
    await run();
    expect(events.map(({ type }) => type)).toEqual(words("submitting accepted waiting downloading saved"));
  });

  it("never writes the key to the disk, nor shows it to the host of the image", async () => {
    const { run, stateFolder, server } = await generating();
    await run();
    expect(filesWithKey(stateFolder)).toEqual([]);
    const download = server.requests.find(({ target }) => target.startsWith("/files"));
    expect(JSON.stringify(download)).not.toContain(TEST_KEY);
  });

  it("returns at once where it is not to wait, with the task left to be resumed", async () => {
    const { run, server, stateFolder } = await generating({}, { wait: null });
    const report = { state: "accepted", isAwaited: false, taskId: "task-1", charged: "yes" };
    expect(await run()).toMatchObject(report);
    expect(server.requests).toHaveLength(1);
    expect(linesIn({ stateFolder })).toEqual({ folder: "open", types: ["intent", "accepted", "released"] });
  });
});

describe("the order of writes", () => {
  it("has the intent on disk when the submit arrives", async () => {
    let seen: unknown;
    const { run, stateFolder } = await generating({
      submit(_request, socket) {
        seen = linesIn({ stateFolder });
        socket.write(success({ taskId: "task-1" }));
      },
    });
    await run();
    expect(seen).toEqual({ folder: "open", types: ["intent"] });
  });

  it("has each further step on disk before it is reported or acted on", async () => {
    const seen: Record<string, string[] | undefined> = {};
    const see = (moment: string) => {
      seen[moment] ??= linesIn(world).types;
    };
    const world = await generating(
      {
        poll(request, socket) {
          see("first poll");
          return completedAt("/files/1.png")(request, socket);
        },
        file(_request, socket) {
          see("download");
          socket.write(response(200, png()));
        },
      },
      {},
      { onProgress: ({ type }: TaskProgressEvent) => see(type) },
    );
    await world.run();
    expect(seen).toMatchObject({
      submitting: ["intent"],
      accepted: ["intent", "accepted"],
      "first poll": ["intent", "accepted"],
      download: ["intent", "accepted", "completed"],
    });
  });

  it("has the refusal, or the unknown outcome, on disk when it is reported", async () => {
    const refused = await generating({ submit: replies(failure("login_required")) });
    const no = { state: "refused", charged: "no", error: { type: "auth_required" } };
    expect(await refused.run()).toMatchObject(no);
    expect(linesIn(refused)).toEqual({ folder: "done", types: ["intent", "refused"] });
    const lost = await generating({ submit: reset });
    const unknown = {
      state: "unknown",
      charged: "unknown",
      taskId: null,
      error: { type: "outcome_unknown" },
    };
    expect(await lost.run()).toMatchObject(unknown);
    expect(linesIn(lost)).toEqual({ folder: "open", types: ["intent", "unknown", "released"] });
  });

  it("has on disk that nothing was sent", async () => {
    const nobody = { baseUrl: `http://127.0.0.1:${await deadPort()}/api` };
    const { run, stateFolder } = await generating({}, {}, nobody);
    expect(await run()).toMatchObject({ state: "not_sent", charged: "no", error: { type: "network" } });
    expect(linesIn({ stateFolder })).toEqual({
      folder: "done",
      types: words("intent waiting started waiting started waiting started waiting not_sent"),
    });
  });
});

describe("nothing is submitted", () => {
  it("where the output folder cannot be written to", async () => {
    const { run, server, output, stateFolder } = await generating();
    await writeFile(output, "a file in its place").catch(() => mkdir(output));
    await expect(run()).rejects.toMatchObject({ type: "save_failed", charged: "no" });
    expect(server.requests).toEqual([]);
    await expect(readdir(stateFolder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("where the ledger cannot be written to", async () => {
    const { run, server, stateFolder } = await generating();
    await writeFile(stateFolder, "a file in its place");
    await expect(run()).rejects.toMatchObject({ type: "save_failed", charged: "no" });
    expect(server.requests).toEqual([]);
  });

  it("after a signal", async () => {
    const { run, server, interrupt } = await generating();
    interrupt();
    await expect(run()).rejects.toMatchObject({ type: "interrupted", charged: "no" });
    expect(server.requests).toEqual([]);
  });
});

describe("a charged task stays to be resumed", () => {
  const open = { folder: "open", types: ["intent", "accepted", "released"] };

  it.each<[string, Buffer, object]>([
    [
      "the wait is over before it is",
      success({ status: "processing" }),
      { type: "pending", message: /task-1/ },
    ],
    ["the key is refused while it is awaited", failure("login_required", 401), { type: "auth_required" }],
  ])("when %s", async (_when, reply, { message = /./, ...error }: { message?: RegExp }) => {
    const { run, stateFolder } = await generating({ poll: replies(reply) });
    expect(await run()).toMatchObject({
      state: "accepted",
      charged: "yes",
      error: { ...error, charged: "yes", message: expect.stringMatching(message) },
    });
    expect(linesIn({ stateFolder })).toEqual(open);
  });

  it("when a signal comes while it is awaited", async () => {
    const world = await generating({ poll: () => world.interrupt("SIGTERM") });
    const error = { type: "interrupted", signal: "SIGTERM", charged: "yes" };
    expect(await world.run()).toMatchObject({ state: "accepted", error });
    expect(linesIn(world)).toEqual(open);
  });

  it("when its image cannot be fetched", async () => {
    const { run, stateFolder, output } = await generating({ file: replies(response(404, "")) });
    expect(await run()).toMatchObject({
      state: "completed",
      charged: "yes",
      files: [],
      error: { type: "save_failed", charged: "yes" },
    });
    expect(linesIn({ stateFolder })).toEqual({
      folder: "open",
      types: ["intent", "accepted", "completed", "gone", "released"],
    });
    expect(await readdir(output)).toEqual([]);
  });

  it("when its image cannot be written", async ({ skip }) => {
    const output = tinyDisk(16);
    if (output === null) return skip("needs permission to mount");
    const big = Buffer.concat([png().subarray(0, 40), Buffer.alloc(2_000_000)]);
    const { run, stateFolder } = await generating({ file: replies(response(200, big)) }, {}, { output });
    expect(await run()).toMatchObject({ state: "completed", error: { type: "save_failed", charged: "yes" } });
    expect(linesIn({ stateFolder })).toEqual({
      folder: "open",
      types: ["intent", "accepted", "completed", "released"],
    });
  });
});

it("a task that failed is at its end, and whether it was charged is not known", async () => {
  const { run, stateFolder } = await generating({ poll: taskIs({ status: "failed", errorCode: 17 }) });
  expect(await run()).toMatchObject({
    state: "failed",
    charged: "unknown",
    error: { type: "generation_failed", charged: "unknown", message: expect.stringContaining("17") },
  });
  expect(linesIn({ stateFolder })).toEqual({ folder: "done", types: ["intent", "accepted", "failed"] });
});

it("an image whose first URL is gone is fetched from the fresh one", async () => {
  const { run } = await generating({
    poll: inTurn(completedAt("/files/1.png"), completedAt("/files/2.png")),
    file({ target }, socket) {
      socket.write(target === "/files/1.png" ? response(403, "expired") : response(200, png()));
    },
  });
  const report = await run();
  expect(report).toMatchObject({ error: null, files: [{ url: expect.stringMatching(/\/files\/2\.png$/) }] });
});

it("a ledger that breaks after the submit is reported with the id, and the image is saved anyway", async ({
  skip,
}) => {
  const stateFolder = tinyDisk(128);
  if (stateFolder === null) return skip("needs permission to mount");
  const tasks = path.join(stateFolder, "tasks");
  const taskId = `task-${"x".repeat(250)}`;
  let intentBytes = 0;
  const { deps, destination, events, output } = await generating(
    {
      submit(_request, socket) {
        const [task = ""] = readdirSync(path.join(tasks, "open")).slice(-1);
        intentBytes = statSync(path.join(tasks, "open", task)).size;
        unlinkSync(path.join(tasks, ".reserve"));
        fillUp(stateFolder);
        socket.write(success({ taskId }));
      },
    },
    {},
    { stateFolder },
  );
  const buy = (prompt: string) => {
    const checked = { ...CHECKED, request: { ...CHECKED.request, prompt } };
    return submitNew({ checked, destination, wait: WAIT }, deps);
  };
  await buy("a fox");
  unlinkSync(path.join(stateFolder, "filler"));
  // The intent ends just before its file's block does, so that the next record needs a new one.
  const report = await buy("a fox".padEnd(5 + 4000 - intentBytes, "!"));
  expect(report).toMatchObject({ error: null, state: "saved", taskId });
  expect((await readdir(output)).sort()).toEqual(["a-fox-2.png", "a-fox.png"]);
  const warnings = events.filter(({ type }) => type === "ledger_warning");
  expect(warnings).toEqual([{ type: "ledger_warning", message: expect.stringContaining(taskId) }]);
});

/** Takes all the room of a disk. */
function fillUp(folder: string): void {
  try {
    for (;;) appendFileSync(path.join(folder, "filler"), Buffer.alloc(4096));
  } catch {
    return;
  }
}
