import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";

import { AuthRequiredError, GenerationFailedError } from "../../../src/api/api-errors.ts";
import { taskError } from "../../../src/core/engine/task-error.ts";

import {
  action,
  COMMAND_VOCABULARY,
  formatWording,
  option,
  phrase,
  type Vocabulary,
} from "../../../src/lib/wording.ts";
import { AGENT_WORDS } from "../../../src/mcp/agent-words.ts";
import type { SubmitReply } from "../../../src/providers/provider.ts";
import { png, sha256 } from "../../support/images.ts";
import { LINES } from "../../support/records.ts";
import { type Answer, drawn, endless, lost, refused } from "../../support/scripted-provider.ts";
import { pause, until } from "../../support/wait.ts";
import { keptIn, leaveImage, linesIn, workWorld } from "./work-world.ts";

const { started } = LINES;
const FREE = { isPaid: false };
const makes: Answer = (job) => drawn(job);
const NO_KEY = new AuthRequiredError("No key is set.");
const NO_CATS = new GenerationFailedError("No cats.", { charged: "no" });

type WorkWorld = Awaited<ReturnType<typeof workWorld>>;

/** Answers in turn; the last answer again and again. */
const inTurn =
  (...answers: Answer[]): Answer =>
  (job, how, number) =>
    (answers[Math.min(number, answers.length) - 1] ?? endless)(job, how, number);

/** Answers once this is called. */
function held() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const answer: Answer = async (job) => {
    await opened;
    return drawn(job);
  };
  return { answer, open };
}

describe("a task at a provider that answers with its image", () => {
  it("is sent once and saved, and nothing is kept of its reply", async () => {
    const world = await workWorld();
    const report = await world.generate();
    expect(report).toMatchObject({
      taskId: "task_1",
      state: "saved",
      charged: "yes",
      usage: { total_tokens: 12 },
      urls: [],
      files: [{ path: path.join(world.output, "a-fox.png"), url: null, sha256: sha256(png()) }],
      error: null,
    });
    expect(world.provider.jobs).toHaveLength(1);
    expect(linesIn(world)).toEqual({ folder: "done", types: ["intent", "started", "completed", "saved"] });
    expect(keptIn(world)).toEqual([]);
  });
});

it("keeps the advice of a refusal as data, which each face words by its own table when it reads the task", async () => {
  const hint = [
    "Nothing was charged.",
    phrase`To save it: ${action("resume", "task_9")}`,
    phrase`Add ${option("generator")}`,
  ];
  const error = new GenerationFailedError("No cats.", { charged: "no", hint });
  const world = await workWorld({ answer: async () => ({ outcome: "refused", error }) });
  const { ledgerId } = await world.generate();
  const task = await world.deps.ledger.find(ledgerId ?? "");
  const said = task && "requests" in task ? taskError(task)?.wording : undefined;
  const inWords = (words: Vocabulary) => formatWording(said?.hint ?? "", words);
  expect(inWords(COMMAND_VOCABULARY)).toBe(
    "Nothing was charged. To save it: imggen resume task_9 Add --generator",
  );
  expect(inWords(AGENT_WORDS)).toBe('Nothing was charged. To save it: call get_task with taskId "task_9"');
});

describe("a request whose reply is lost", () => {
  it("stays as it is where its provider knows what became of it, and cannot be asked now", async () => {
    const world = await workWorld({ answer: () => lost({ isAskable: true }) });
    const report = await world.generate();
    expect(report).toMatchObject({ state: "started", charged: "unknown", error: { type: "pending" } });
    expect(linesIn(world)).toEqual({ folder: "open", types: ["intent", "started", "released"] });
    const recovered: SubmitReply[] = [
      { outcome: "unknown", why: "no route", excerpt: null, isAskable: true },
      { outcome: "refused", error: NO_CATS },
    ];
    world.provider.recover = async () => recovered.shift() ?? null;
    const id = report.ledgerId ?? "";
    expect(await world.resume(id)).toMatchObject({
      state: "started",
      error: { type: "pending", message: expect.stringMatching(/is not known yet: no route\.$/) },
    });
    expect(await world.resume(id)).toMatchObject({ state: "refused", charged: "no" });
    expect(world.provider.jobs).toHaveLength(1);
  });

  it("is sent again twice where it is free, and has failed then", async () => {
    const world = await workWorld({ work: FREE, answer: () => lost() });
    expect(await world.generate()).toMatchObject({
      state: "failed",
      charged: "no",
      error: { type: "generation_failed", charged: "no" },
    });
    expect(world.provider.jobs).toHaveLength(3);
    expect(linesIn(world).folder).toBe("done");
  });
});

describe("several images for one request", () => {
  const threeImages: Answer = async (job) => {
    await writeFile(path.join(job.folder, "image_2.png"), png(10 + job.index));
    await writeFile(path.join(job.folder, "image_3.png"), png(20 + job.index));
    return drawn(job);
  };

  it("come after the first ones of all requests, the second ones before the third", async () => {
    const world = await workWorld({ answer: threeImages, work: { requests: 2 }, images: 2 });
    expect((await world.generate()).files.map((file) => file.sha256)).toEqual(
      [png(0), png(1), png(10), png(11), png(20), png(21)].map(sha256),
    );
  });

  it("are not given up with what is dismissed while one of them is not saved", async () => {
    const world = await workWorld({ work: { requests: 2 }, images: 2 });
    const file = { path: "/a.png", url: null, mediaType: "image/png", bytes: 9, width: 8, height: 6 };
    const id = await world.leave([
      { ...started, request: 0 },
      { ...LINES.completed, urls: [], request: 0 },
      { ...started, request: 1 },
      { ...LINES.unknown, request: 1 },
      { ...LINES.partly_saved, files: [{ ...file, sha256: "0" }, null, null] },
    ]);
    expect(await world.dismiss(id)).toMatchObject({ state: "completed" });
    expect(linesIn(world).folder).toBe("open");
  });
});

describe.each<[string, number | null, (world: WorkWorld) => void, string]>([
  ["a signal while a request runs", null, ({ interrupt }) => interrupt(), "interrupted"],
  ["a wait that is over before its request", 90_000, ({ clock }) => clock.advance(90_000), "pending"],
])("%s", (_what, timeoutMs, end, type) => {
  it("gives a free one up, which waits for the next run", async () => {
    const world = await workWorld({ work: FREE, answer: inTurn(endless, makes), timeoutMs });
    const generating = world.generate();
    await until(() => world.provider.jobs.length > 0);
    end(world);
    const report = await generating;
    expect(report).toMatchObject({ state: "waiting", charged: "no", error: { type } });
    expect(linesIn(world).folder).toBe("open");
    expect(await world.resume(report.ledgerId ?? "")).toMatchObject({ state: "saved", error: null });
    expect(world.provider.jobs).toHaveLength(2);
  });

  it("waits for the reply to a paid one", async () => {
    const { answer, open } = held();
    const world = await workWorld({ answer, timeoutMs });
    const generating = world.generate();
    await until(() => world.provider.jobs.length > 0);
    end(world);
    await pause(20);
    const told = { type: "submit_interrupted", taskId: "task_1", waitMs: null };
    const isSignal = type === "interrupted";
    expect(world.events.filter((event) => event.type === "submit_interrupted")).toEqual(
      isSignal ? [told] : [],
    );
    open();
    const report = await generating;
    // What is made when the wait is over is saved at once; after a signal, the next run does that.
    if (isSignal) expect(report).toMatchObject({ state: "completed", charged: "yes", error: { type } });
    else expect(report).toMatchObject({ state: "saved", charged: "yes", error: null });
    expect(await readdir(world.output)).toEqual(isSignal ? [] : ["a-fox.png"]);
    expect(await world.resume(report.ledgerId ?? "")).toMatchObject({ state: "saved", error: null });
    expect(world.provider.jobs).toHaveLength(1);
  });
});

describe("a request that takes longer than it may", () => {
  const tooLong = async (work: { isPaid: boolean }) => {
    const world = await workWorld({ work, answer: endless });
    const generating = world.generate();
    await until(() => world.provider.jobs.length > 0);
    world.clock.advance(600_000);
    return generating;
  };

  it("is given up, and may have been paid for", async () => {
    expect(await tooLong({ isPaid: true })).toMatchObject({ state: "unknown", charged: "unknown" });
  });

  it("has failed where it is free, with what allows more", async () => {
    expect(await tooLong(FREE)).toMatchObject({
      state: "failed",
      charged: "no",
      error: { type: "generation_failed", message: expect.stringContaining("generatorTimeout") },
    });
  });
});

describe("a task of several requests", () => {
  it("of which one is lost saves the others, names it, and is the user's to decide on", async () => {
    const world = await workWorld({ images: 3, answer: inTurn(makes, () => lost(), makes) });
    const report = await world.generate();
    expect(report).toMatchObject({
      state: "completed",
      charged: "yes",
      missing: [expect.stringMatching(/^image 2: .*cut/)],
      files: [{ bytes: png(0).length }, { bytes: png(2).length }],
      error: { type: "partial", message: expect.stringContaining("1 of 3") },
    });
    const id = report.ledgerId ?? "";
    expect(await world.resume(id)).toMatchObject({ state: "completed", error: { type: "partial" } });
    expect(world.provider.jobs).toHaveLength(3);
    expect(linesIn(world).folder).toBe("open");
    expect(await world.dismiss(id)).toMatchObject({
      state: "saved",
      charged: "yes",
      files: [{ bytes: png(0).length }, { bytes: png(2).length }],
    });
    expect(linesIn(world).folder).toBe("done");
    expect(keptIn(world)).toEqual([]);
  });

  it("is refused at once where the account is, and sends no other", async () => {
    const world = await workWorld({ images: 3, answer: () => refused(NO_KEY) });
    expect(await world.generate()).toMatchObject({ state: "refused", charged: "no", error: NO_KEY });
    expect(world.provider.jobs).toHaveLength(1);
    expect(linesIn(world).folder).toBe("done");
  });
});

describe("a task whose process ended", () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 0],
  ])("after a free request was sent %i times is sent %i times more", async (tries, more) => {
    const world = await workWorld({ work: FREE });
    const attempts = Array.from({ length: tries }, (_, at) => ({ ...started, attempt: `1.${at}` }));
    const lost = attempts.slice(1).map((_, at) => ({ ...LINES.unknown, attempt: `1.${at}` }));
    const id = await world.leave([...attempts, ...lost]);
    const state = more > 0 ? "saved" : "failed";
    expect(await world.resume(id)).toMatchObject({ state, charged: "no" });
    expect(world.provider.jobs).toHaveLength(more);
  });

  it("is left alone while it is alive, until its time is over", async () => {
    const world = await workWorld();
    const id = await world.leave([started], true);
    await leaveImage(id, world, png());
    expect(await world.resume(id)).toMatchObject({ state: "started", error: { type: "pending" } });
    world.clock.advance(10 * 60_000);
    expect(await world.resume(id)).toMatchObject({ state: "saved", error: null });
  });
});
