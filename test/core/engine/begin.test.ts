import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { submitNew, type TaskSpec } from "../../../src/core/engine/begin.ts";
import type { TaskProgressEvent } from "../../../src/core/engine/events.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { filesWithKey } from "../../support/canary.ts";
import { png, sha256 } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { failure, response, type ServiceScript, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, reset } from "../../support/scripts.ts";
import { type TaskWorldOptions, TEST_KEY, taskWorld } from "../../support/task-world.ts";
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
    const { run, output, stateFolder, server, destination, events } = await generating();
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
    expect(events.map(({ type }) => type)).toEqual(
      words("recorded submitting accepted waiting downloading saved"),
    );
    // No folder for the reply of a service that answers with an id.
    expect(await readdir(path.join(stateFolder, "tasks"))).not.toContain("work");
    expect(filesWithKey(stateFolder)).toEqual([]);
    const download = server.requests.find(({ target }) => target.startsWith("/files"));
    expect(JSON.stringify(download)).not.toContain(TEST_KEY);
  });
});

describe("the order of writes", () => {
  it("has each step on disk before it is reported or acted on", async () => {
    const seen: Record<string, string[] | undefined> = {};
    const see = (moment: string) => {
      seen[moment] ??= linesIn(world).types;
    };
    const world = await generating(
      {
        submit(_request, socket) {
          see("submit");
          socket.write(success({ taskId: "task-1" }));
        },
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
      submit: ["intent"],
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
});

describe("a charged task stays to be resumed", () => {
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
