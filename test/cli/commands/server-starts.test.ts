import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { jsonLines } from "../../support/batch-world.ts";
import { comfyDouble, workflow } from "../../support/comfyui.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { generatorWorld, makesImage } from "../../support/generator-world.ts";
import { type Behaviour, json as reply } from "../../support/scripted-server.ts";

const LOADING = reply({ error: { code: 503, message: "Loading model" } }, 503);
const later = (seconds: number) => reply({}, 503, { "retry-after": String(seconds) });

/** 200 s take one. */
const clock: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * 200,
  sleep: (ms, signal) => systemClock.sleep(ms / 200, signal),
};

/** A server that is not ready for so many requests. */
async function starting(times: number, answered: Buffer) {
  let left = times;
  const answer: Behaviour = (request, socket) =>
    left-- > 0 ? void socket.write(answered) : makesImage(request, socket);
  return generatorWorld(answer);
}

describe("a free server that answers 503 while it loads its model", () => {
  it("is waited for as long as --timeout allows, however often it says so", async () => {
    const { json, prompts } = await starting(9, LOADING);
    expect(await json(["generate", "a fox", "--timeout", "10m"])).toMatchObject({ code: 0 });
    expect(prompts()).toHaveLength(10);
  });

  it("is waited for for longer than 180 s if --timeout is longer, and not beyond it", async () => {
    const patient = await starting(2, later(200));
    expect(await patient.json(["generate", "a fox", "--timeout", "60m"], { clock })).toMatchObject({
      code: 0,
    });
    const { json, prompts } = await starting(2, later(200));
    const { code, document } = await json(["generate", "a fox", "--timeout", "5m"], { clock });
    expect([code, document.error?.type, document.charged, prompts().length]).toEqual([
      5,
      "service_error",
      "no",
      2,
    ]);
    expect(document.error?.message).toContain("is not ready yet (HTTP 503)");
  });

  it("is waited for by all rows of a batch, which says why", async () => {
    const { run, cwd } = await starting(1, later(200));
    await writeFile(path.join(cwd, "p.txt"), "a fox\nan owl\n");
    const { code, stderr } = await run(["batch", "p.txt", "-o", "out", "--timeout", "60m"], { clock });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^127\.0\.0\.1:\d+ is not ready yet \(HTTP 503\): all rows wait 3 min 20 s\.$/m);
    expect(stderr).not.toContain("429");
  });

  it("is not sent the request again if it is paid: it may have made the image", async () => {
    const { json, prompts } = await starting(1, LOADING);
    const { code } = await json(["generate", "a fox", "--generator-paid", "--timeout", "60m"], { clock });
    expect([code, prompts().length]).toEqual([9, 1]);
  });
});

describe("a server that is gone while a batch waits for its image", () => {
  const LEFT = ["Still waiting.", "The service is back."];

  it("is named within seconds, and when it is there again", async () => {
    const { run, double } = await heldBatch();
    const { code, stderr } = await run(BATCH, { onStderr: whenSaid("Still waiting.", double) });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^Running tasks cannot be polled: .*127\.0\.0\.1:\d+.*\. Still waiting\.\nThe service is back\.$/m,
    );
    expect(LEFT.map((text) => stderr.split(text).length - 1)).toEqual([1, 1]);
  });

  it("pauses the batch for a program that reads its events", async () => {
    const { run, double } = await heldBatch();
    const args = [...BATCH, "--progress", "json"];
    const { stderr } = await run(args, { onStderr: whenSaid('"paused"', double) });
    const types = jsonLines(stderr).map(({ type }) => String(type));
    expect(types.filter((type) => /paused/.test(type))).toEqual(["paused", "unpaused"]);
  });
});

const BATCH = ["batch", "p.txt", "-o", "out", "--workflow", "fox.json"];

/** A batch whose first job runs until the server is back: after it was taken, no connection comes to anything. */
async function heldBatch() {
  const double = await comfyDouble({ isHeld: true });
  const world = await commandWorld({}, { IMGGEN_GENERATOR: `comfyui:${double.url}`, ...NO_ACCOUNT });
  await writeFile(path.join(world.cwd, "fox.json"), JSON.stringify(workflow()));
  await writeFile(path.join(world.cwd, "p.txt"), "a fox\n");
  double.onTaken = () => {
    double.cuts = (method) => method === "GET";
  };
  return { ...world, double };
}

/** Has the server be there again once a text is on standard error. */
function whenSaid(words: string, double: Awaited<ReturnType<typeof comfyDouble>>) {
  return (text: string) => {
    if (!text.includes(words)) return;
    double.cuts = () => false;
    double.release();
  };
}
