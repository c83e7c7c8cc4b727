import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { InsufficientCreditsError, ServiceError } from "../../../src/api/api-errors.ts";
import { continueNamed } from "../../../src/core/engine/continue.ts";
import { singleAccountDeps } from "../../../src/core/engine/deps.ts";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import { dayCap } from "../../../src/core/limits/budget.ts";
import type { Cap } from "../../../src/core/limits/caps.ts";
import type { PollReply } from "../../../src/providers/provider.ts";
import type { Destination } from "../../../src/task/intent.ts";
import { png } from "../../support/images.ts";
import { liveServer, liveService } from "../../support/live-server.ts";
import { type Answer, drawn, lost, refused } from "../../support/scripted-provider.ts";
import { response } from "../../support/scripted-server.ts";
import type { TaskWorld } from "../../support/task-world.ts";
import { delayed, twoProcesses } from "./two-processes-world.ts";
import { linesIn, workWorld } from "./work-world.ts";

const BUSY = new ServiceError("It is busy.", { charged: "no" });
const NO_CREDITS = new InsufficientCreditsError("No credits are left.", { charged: "no" });

const SOMEWHERE = { kind: "folder", template: "{slug}.{ext}", overwrite: false } as const;

const accepted: Answer = async (job) => ({ outcome: "accepted", taskId: `job${job.index}` });

/** Two images of a provider with ids. @param second what becomes of the second request */
async function twoImages(second: Answer) {
  const answer: Answer = (job, how, number) => (job.index === 0 ? accepted : second)(job, how, number);
  const world = await workWorld({ answer, images: 2 });
  const server = await liveService(png());
  const poll = vi.fn(
    async (id: string): Promise<PollReply> => ({
      outcome: "state",
      task: { status: "completed", urls: [`${server.origin}/files/${id}.png`] },
    }),
  );
  Object.assign(world.provider, { poll });
  const saved = () => world.events.filter(({ type }) => type === "saved").length;
  return { ...world, poll, saved };
}

describe("the first image of two is saved when it is ready", () => {
  it("while the second waits to be submitted, and both are told as accepted", async () => {
    const reply = delayed(accepted);
    const { generate, saved, output, events } = await twoImages(reply.answer);
    const generating = generate();
    await vi.waitFor(() => expect(saved()).toBe(1), 5_000);
    expect(await readdir(output)).toEqual(["a-fox.png"]);
    reply.send();
    expect(await generating).toMatchObject({ state: "saved", error: null });
    expect((await readdir(output)).sort()).toEqual(["a-fox-2.png", "a-fox.png"]);
    expect(events.filter(({ type }) => type === "accepted")).toEqual(
      [0, 1].map((request) => ({ type: "accepted", taskId: "task_1", request })),
    );
  });

  it.each<[string, Answer, string]>([
    ["the credits are used up", () => refused(NO_CREDITS), "insufficient_credits"],
    [
      "the provider asks for a long wait",
      async () => ({ outcome: "rate_limited", retryAfterMs: 3_600_000, error: BUSY }),
      "pending",
    ],
  ])("if %s before the second, which stays waiting", async (_what, second, type) => {
    const { generate, output, stateFolder, provider } = await twoImages(second);
    const report = await generate();
    expect(report).toMatchObject({
      state: "waiting",
      charged: "yes",
      files: [{ width: 8 }],
      error: { type, charged: "yes" },
    });
    expect(report.files).toHaveLength(1);
    expect(await readdir(output)).toEqual(["a-fox.png"]);
    expect(linesIn({ stateFolder }).folder).toBe("open");
    expect(provider.jobs).toHaveLength(2);
  });

  it("though the disk fails once the second is made, and both are saved", async () => {
    const failing = delayed(async (job) => {
      vi.spyOn(world.deps.ledger, "hasLastPart").mockImplementationOnce(() => {
        throw Object.assign(new Error("i/o error"), { code: "EIO" });
      });
      return drawn(job);
    });
    const world = await twoImages(failing.answer);
    let isReady = () => {};
    const ready = new Promise<void>((resolve) => (isReady = resolve));
    const { poll } = world;
    Object.assign(world.provider, { poll: (id: string) => ready.then(() => poll(id)) });
    const generating = world.generate();
    failing.send();
    await vi.waitFor(() => expect(linesIn(world).types).toContain("completed"), 5_000);
    isReady();
    const report = await generating;
    expect(report).toMatchObject({ error: { type: "save_failed" } });
    expect((await readdir(world.output)).sort()).toEqual(["a-fox-2.png", "a-fox.png"]);
  });

  it("and not downloaded again once the second is there, in another run", async () => {
    let isPaidFor = false;
    const second: Answer = (job, how, number) =>
      isPaidFor ? accepted(job, how, number) : refused(NO_CREDITS);
    const { generate, resume, provider, output } = await twoImages(second);
    const report = await generate();
    isPaidFor = true;
    expect(await resume(report.ledgerId ?? "")).toMatchObject({ state: "saved", error: null });
    expect(provider.jobs.map(({ index }) => index)).toEqual([0, 1, 1]);
    expect((await readdir(output)).sort()).toEqual(["a-fox-2.png", "a-fox.png"]);
  });

  it("and it stays a file of the task, though its reply is gone when the second is saved", async () => {
    let isPaidFor = false;
    const answer: Answer = (job) => (job.index === 0 || isPaidFor ? drawn(job) : refused(NO_CREDITS));
    const { generate, resume, provider } = await workWorld({ answer, images: 2 });
    const report = await generate();
    await rm(provider.jobs[0]?.folder ?? "", { recursive: true });
    isPaidFor = true;
    const resumed = await resume(report.ledgerId ?? "");
    expect(resumed).toMatchObject({ state: "saved", error: null });
    expect(resumed.files).toEqual([report.files[0], expect.objectContaining({ bytes: expect.anything() })]);
  });

  it("and saved anew, if its file is missing, from a reply that only a fallback file has", async () => {
    let isPaidFor = false;
    const answer: Answer = (job) => (job.index === 0 || isPaidFor ? drawn(job) : refused(NO_CREDITS));
    const { generate, resume, provider, output } = await workWorld({ answer, images: 2 });
    const report = await generate();
    const [job] = provider.jobs;
    const fallback = job?.fallbackFiles?.[0] ?? "";
    await rename(path.join(job?.folder ?? "", "image.png"), fallback);
    await rm(path.join(output, "a-fox.png"));
    const images = provider.images;
    provider.images = async (job) =>
      job.index === 0 ? [{ kind: "bytes", bytes: await readFile(fallback) }] : ((await images?.(job)) ?? []);
    isPaidFor = true;
    expect(await resume(report.ledgerId ?? "")).toMatchObject({ state: "saved", error: null });
    expect((await readdir(output)).sort()).toEqual(["a-fox-2.png", "a-fox.png"]);
  });

  it("if the second is refused for good, and the image that comes later has its own place", async () => {
    const { generate, resume, output } = await twoImages(() => refused(BUSY_PROMPT));
    const report = await generate();
    expect(report).toMatchObject({ state: "saved", files: [{ width: 8 }], error: { type: "partial" } });
    expect(await resume(report.ledgerId ?? "")).toMatchObject({ state: "saved", isSavedBefore: true });
    expect(await readdir(output)).toEqual(["a-fox.png"]);
  });
});

it("an image is saved in the run that made it, though the image before it cannot be downloaded", async () => {
  const { generate, output, poll, provider } = await twoImages(accepted);
  Object.assign(provider, {
    poll: async (id: string): Promise<PollReply> =>
      id === "job0"
        ? { outcome: "state", task: { status: "completed", urls: ["http://127.0.0.1:9/none.png"] } }
        : poll(id),
  });
  expect(await generate()).toMatchObject({ error: { type: "save_failed" }, files: [{ width: 8 }] });
  expect(await readdir(output)).toEqual(["a-fox-2.png"]);
});

it("a missing image of several jobs is saved again under its name, and the others as they are", async () => {
  const server = await liveServer(({ target }, socket) => {
    socket.write(response(200, png(Number(/(\d+)\.png$/.exec(target)?.[1]))));
  });
  const { generate, resume, output, provider } = await workWorld({ answer: accepted, images: 2 });
  const urlsOf = { job0: [0], job1: [10, 11] };
  const poll = async (id: keyof typeof urlsOf): Promise<PollReply> => ({
    outcome: "state",
    task: { status: "completed", urls: urlsOf[id].map((number) => `${server.origin}/${number}.png`) },
  });
  Object.assign(provider, { poll });
  const { ledgerId, files } = await generate();
  const names = ["a-fox.png", "a-fox-2.png", "a-fox-4.png"];
  expect(files.map((file) => path.basename(file.path ?? ""))).toEqual(names);
  await rm(path.join(output, "a-fox.png"));
  const elsewhere = { ...SOMEWHERE, folder: path.join(output, "elsewhere") };
  expect(await resume(ledgerId ?? "", elsewhere)).toMatchObject({ state: "saved", error: null });
  const bytes = await Promise.all(names.map((name) => readFile(path.join(output, "elsewhere", name))));
  expect(bytes).toEqual([png(0), png(10), png(11)]);
});

const BUSY_PROMPT = new BudgetExceededError("It does not draw that.", { charged: "no" });

/** A reply with so many images. */
const several =
  (count: number): Answer =>
  async (job) => {
    // A dismissal has deleted the folder.
    await mkdir(job.folder, { recursive: true });
    for (let at = 0; at < count; at++)
      await writeFile(path.join(job.folder, `image${at}.png`), png(10 * job.index + at));
    return { outcome: "made", usage: null };
  };

/**
 * Two requests, of which one gets its reply after process 2 has taken the task over and the user has dismissed it.
 * @param index of the request whose reply is late
 */
async function repliedAfterDismissal(index: number, other: Answer, late: ReturnType<typeof delayed>) {
  const answer: Answer = (job, how, number) => (job.index === index ? late.answer : other)(job, how, number);
  const world = await twoProcesses({ answer, work: { requests: 2 } });
  const generating = world.generate();
  await world.provider.sent(index + 1);
  world.stop();
  await world.resume(world.two);
  await world.dismiss();
  late.send();
  await generating;
  return world;
}

describe("a paid reply with two images", () => {
  it("is saved although the reply to another request is lost, and a dismissal deletes no image", async () => {
    const answer: Answer = (job, how, number) => (job.index === 0 ? several(2)(job, how, number) : lost());
    const { generate, dismiss, output } = await workWorld({ answer, images: 2 });
    const { ledgerId, files } = await generate();
    expect(files).toHaveLength(2);
    await dismiss(ledgerId ?? "");
    expect((await readdir(output)).sort()).toEqual(["a-fox-3.png", "a-fox.png"]);
  });

  it("stays open if it could not be saved and the other request is dismissed", async () => {
    const answer: Answer = async (job, how, number) => {
      if (job.index > 0) return lost();
      await rm(output, { recursive: true });
      await writeFile(output, "a file, and no folder");
      return several(2)(job, how, number);
    };
    const { generate, dismiss, resume, output } = await workWorld({ answer, images: 2 });
    const { ledgerId, error } = await generate();
    expect(error).toMatchObject({ type: "save_failed" });
    await rm(output);
    expect(await dismiss(ledgerId ?? "")).toMatchObject({ state: "completed", charged: "yes" });
    expect(await resume(ledgerId ?? "")).toMatchObject({ state: "saved" });
    expect((await readdir(output)).sort()).toEqual(["a-fox-3.png", "a-fox.png"]);
  });

  it("is saved before a later request has its reply", async () => {
    const second = delayed(several(1));
    const answer: Answer = (job, how, number) =>
      (job.index === 0 ? several(2) : second.answer)(job, how, number);
    const { generate, output, events } = await workWorld({ answer, images: 2 });
    const generating = generate();
    await vi.waitFor(() => expect(events.filter(({ type }) => type === "saved")).toHaveLength(2), 5_000);
    expect((await readdir(output)).sort()).toEqual(["a-fox-3.png", "a-fox.png"]);
    second.send();
    expect(await generating).toMatchObject({ state: "saved", error: null });
    expect((await readdir(output)).sort()).toEqual(["a-fox-2.png", "a-fox-3.png", "a-fox.png"]);
  });

  it.each(["not stopped", "stopped at its first image"])(
    "is saved after its request was dismissed, %s",
    async (when) => {
      const late = delayed(several(2));
      const world = await repliedAfterDismissal(1, several(1), late);
      if (when !== "not stopped") {
        const stopped = await world.next();
        const { deps } = stopped;
        deps.onProgress = ({ type }) => {
          if (type === "saved") stopped.interrupt();
        };
        expect(await world.resume(stopped)).toMatchObject({ error: { type: "interrupted" } });
        expect((await readdir(world.one.output)).sort()).toEqual(["a-fox-2.png", "a-fox.png"]);
      }
      expect(await world.resume(await world.next())).toMatchObject({ state: "saved", error: null });
      expect((await readdir(world.one.output)).sort()).toEqual(["a-fox-2.png", "a-fox-4.png", "a-fox.png"]);
    },
  );

  it("keeps its file names if the reply to an earlier request arrives later", async () => {
    const late = delayed(several(3));
    const world = await repliedAfterDismissal(0, several(2), late);
    await world.resume(await world.next());
    expect(await readdir(world.one.output)).toHaveLength(5);
    expect(new Set((await world.taskOf()).files.map((file) => file?.sha256)).size).toBe(5);
  });
});

it.each([1, 2])(
  "a saved reply of two images stays in the record of a task whose other request has %d later",
  async (count) => {
    const late = delayed(several(count));
    const first = several(2);
    const answer: Answer = (job, how, number) => (job.index === 0 ? first : late.answer)(job, how, number);
    const world = await twoProcesses({ answer, work: { requests: 2 } });
    const generating = world.generate();
    await world.provider.sent(2);
    world.stop();
    const elsewhere = {
      ...world.one.destination,
      folder: path.join(world.one.output, "elsewhere"),
    } as Destination;
    const wait = { timeoutMs: null, schedule: null };
    const spec = { wait, destination: elsewhere, sends: true };
    await continueNamed(await world.taskOf(), spec, singleAccountDeps(world.two.deps));
    await rm(world.provider.jobs.find(({ index }) => index === 0)?.folder ?? "", { recursive: true });
    late.send();
    await generating;
    await world.resume(await world.next());
    expect((await world.taskOf()).files.filter(Boolean)).toHaveLength(2 + count);
  },
);

it("a saved image stays saved, though its reply no longer has an image", async () => {
  let isPaidFor = false;
  const answer: Answer = (job) => (job.index === 0 || isPaidFor ? drawn(job) : refused(NO_CREDITS));
  const { generate, resume, provider, output } = await workWorld({ answer, images: 2 });
  const report = await generate();
  const { images } = provider;
  provider.images = async (job) => (job.index === 0 ? [] : ((await images?.(job)) ?? []));
  isPaidFor = true;
  const resumed = await resume(report.ledgerId ?? "");
  expect(resumed).toMatchObject({ state: "saved", error: null });
  expect(resumed.files[0]).toEqual(report.files[0]);
  expect(await readdir(output)).toHaveLength(2);
});

describe("before each submit of a paid request", () => {
  /** A cap for so many requests. */
  function capOf(max: number): Cap & { taken: string[] } {
    const taken: string[] = [];
    return {
      taken,
      async take({ request, credits }) {
        if (taken.length >= max) return new BudgetExceededError("The cap is reached.", {});
        taken.push(`${request}: ${credits}`);
        return null;
      },
      async giveBack({ request, credits }) {
        taken.splice(taken.indexOf(`${request}: ${credits}`), 1);
      },
    };
  }

  it("the caps are asked: what is over stays waiting, and what was made before is saved", async () => {
    const { one, generate, provider } = await twoProcesses({ work: { requests: 3 } });
    const cap = capOf(2);
    one.deps.caps = [cap];
    expect(await generate()).toMatchObject({
      state: "waiting",
      charged: "yes",
      files: [{ width: 8 }, { width: 9 }],
      error: { type: "budget_exceeded" },
    });
    expect(cap.taken).toEqual(["0: 2", "1: 2"]);
    expect(provider.jobs).toHaveLength(2);
    expect(linesIn(one).folder).toBe("open");
  });

  it("the day's limit is asked on the day of the submit, in a later run too", async () => {
    const { one, next, resume, generate, provider, clock } = await twoProcesses({ work: { requests: 2 } });
    const limitFor = ({ deps }: TaskWorld) => [dayCap({ ...deps, dailyCredits: 2 })];
    one.deps.caps = limitFor(one);
    expect(await generate()).toMatchObject({ state: "waiting", error: { type: "budget_exceeded" } });
    const later = await next();
    later.deps.caps = limitFor(later);
    expect(await resume(later)).toMatchObject({ state: "waiting", error: { type: "budget_exceeded" } });
    expect(provider.jobs).toHaveLength(1);
    clock.advance(24 * 3_600_000);
    expect(await resume(later)).toMatchObject({ state: "saved", error: null });
    expect(provider.jobs).toHaveLength(2);
  });

  it("one that was not sent, was turned away or refused is given back, and one whose reply is lost is not", async () => {
    const cases: [Answer, string[]][] = [
      [async () => ({ outcome: "not_sent", cause: new Error("no route"), error: BUSY }), []],
      [async () => ({ outcome: "rate_limited", retryAfterMs: 3_600_000, error: BUSY }), []],
      [() => refused(BUSY), []],
      [async () => ({ outcome: "unknown", why: "cut", excerpt: null }), ["0: 2"]],
      [(job) => drawn(job), ["0: 2"]],
    ];
    for (const [answer, taken] of cases) {
      const { one, generate } = await twoProcesses({ answer });
      const cap = capOf(1);
      one.deps.caps = [cap];
      await generate();
      expect(cap.taken).toEqual(taken);
    }
  });
});
