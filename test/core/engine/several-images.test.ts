import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { submitNew } from "../../../src/core/engine/begin.ts";
import { isAtEnd } from "../../../src/core/engine/queued-task.ts";
import type { PollReply } from "../../../src/providers/provider.ts";
import { getTaskEnd } from "../../../src/serve/end.ts";
import type { Line } from "../../../src/task/line.ts";
import { png, sha256 } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { LINES } from "../../support/records.ts";
import { type Answer, lost } from "../../support/scripted-provider.ts";
import { response } from "../../support/scripted-server.ts";
import { leaveImage, linesIn, workWorld } from "./work-world.ts";

const { started, accepted, completed, unknown, partly_saved } = LINES;

const imageOf = (request: number, at: number) => png(20 * request + at);

/** The lines of a request that ends with `end`. */
const linesOf = (request: number, end: Line): Line[] => [
  { ...started, request },
  { ...end, request } as Line,
];

/** A world whose replies have `counts` images. */
async function worldOf(counts: readonly number[], answer?: Answer) {
  const options = { work: { requests: counts.length }, images: counts.length };
  const world = await workWorld({ ...options, ...(answer && { answer }) });
  await mkdir(world.output, { recursive: true });
  world.provider.images = async ({ index }) =>
    Array.from(
      { length: counts[index] ?? 0 },
      (_, at) => ({ kind: "bytes", bytes: imageOf(index, at) }) as const,
    );
  /** Puts an image where an earlier run has saved it. */
  const put = async (request: number, at: number) => {
    const bytes = imageOf(request, at);
    const file = path.join(world.output, `earlier-${request}-${at}.png`);
    await writeFile(file, bytes);
    const facts = { url: null, mediaType: "image/png", width: 8, height: 6 };
    return { ...facts, path: file, bytes: bytes.length, sha256: sha256(bytes) };
  };
  const leaveReply = (id: string, request: number) =>
    leaveImage(id, world, imageOf(request, 0), { request, attempt: started.attempt });
  const saved = async () => {
    const names = await readdir(world.output);
    return Promise.all(names.map(async (name) => sha256(await readFile(path.join(world.output, name)))));
  };
  return { ...world, put, leaveReply, saved };
}

const here: Line = { ...completed, urls: [] };

describe("a task that an earlier version has saved in part", () => {
  it.each<[string, readonly number[], [number, number][]]>([
    [
      "all images of the first request before those of the second",
      [3, 3],
      [
        [0, 0],
        [1, 0],
        [0, 1],
        [0, 2],
      ],
    ],
    [
      "one image fewer of the second request",
      [3, 2],
      [
        [0, 0],
        [1, 0],
        [0, 1],
        [0, 2],
      ],
    ],
    [
      "the first images alone",
      [3, 3],
      [
        [0, 0],
        [1, 0],
      ],
    ],
  ])("with %s, is saved completely by resume", async (_what, counts, order) => {
    const { put, leave, leaveReply, resume, saved } = await worldOf(counts);
    const files = await Promise.all(order.map(([request, at]) => put(request, at)));
    const lines = counts.flatMap((_, request) => linesOf(request, here));
    const id = await leave([...lines, { ...partly_saved, files }]);
    for (const request of counts.keys()) await leaveReply(id, request);
    expect(await resume(id)).toMatchObject({ state: "saved", error: null });
    const all = counts.flatMap((count, request) =>
      Array.from({ length: count }, (_, at) => sha256(imageOf(request, at))),
    );
    const digests = await saved();
    expect(all.filter((digest) => !digests.includes(digest))).toEqual([]);
  });

  it("keeps the rest of a reply when a lost request is dismissed", async () => {
    const { put, leave, leaveReply, resume, dismiss, saved } = await worldOf([2, 1]);
    const files = [await put(0, 0), null];
    const lines = [...linesOf(0, here), ...linesOf(1, unknown)];
    const id = await leave([...lines, { ...partly_saved, files }]);
    await leaveReply(id, 0);
    await dismiss(id);
    await resume(id);
    expect(await saved()).toContain(sha256(imageOf(0, 1)));
  });
});

it("a reply that is gone before its first image is saved can be dismissed, whatever else is saved of it", async () => {
  const { provider, put, leave, resume, dismiss, stateFolder } = await worldOf([2, 1]);
  provider.images = async () => [];
  const files = [null, await put(1, 0), await put(0, 1)];
  const lines = [...linesOf(0, here), ...linesOf(1, here)];
  const id = await leave([...lines, { ...partly_saved, files, imageCounts: [2, 1] }]);
  expect(await resume(id)).toMatchObject({ error: expect.anything() });
  await dismiss(id);
  expect(linesIn({ stateFolder }).folder).toBe("done");
});

it("standard output gets the first image once, and a folder each other one", async () => {
  const { deps, spec, output, written } = await worldOf([2, 2]);
  const destination = { kind: "stdout", folder: output, template: "{slug}", overwrite: false } as const;
  expect(await submitNew({ ...spec, destination }, deps)).toMatchObject({ state: "saved", error: null });
  expect(Buffer.concat(written)).toEqual(imageOf(0, 0));
  expect(await readdir(output)).toHaveLength(3);
});

it.each([17, 3])("a reply of %i images is kept after Ctrl-C if not all of them are saved", async (count) => {
  const answer: Answer = async (job) => {
    if (job.index === 1) return lost();
    await mkdir(job.folder, { recursive: true });
    await writeFile(path.join(job.folder, "reply.png"), png());
    return { outcome: "made", usage: null };
  };
  const { generate, dismiss, provider, deps, interrupt, stateFolder } = await worldOf([count, 0], answer);
  const { images } = provider;
  const cut = { kind: "bytes", bytes: png().subarray(0, 40) } as const;
  provider.images = async (job) => [...((await images?.(job)) ?? []), ...(count < 16 ? [cut] : [])];
  const { onProgress } = deps;
  let saved = 0;
  deps.onProgress = (event) => {
    onProgress(event);
    if (event.type === "saved") saved += 1;
    if (saved === Math.min(count, 16)) interrupt();
  };
  const { ledgerId } = await generate();
  await dismiss(ledgerId ?? "");
  const kept = path.join(stateFolder, "tasks", "kept");
  expect(await readdir(kept, { recursive: true })).toContainEqual(expect.stringContaining("reply.png"));
});

it("a reply with a cut image beside a whole one ends with the whole one, and keeps the other", async () => {
  const { provider, generate, stateFolder } = await worldOf([1]);
  provider.images = async ({ folder }) => {
    await writeFile(path.join(folder, "cut.png"), png().subarray(0, 40));
    return [
      { kind: "bytes", bytes: png() },
      { kind: "file", file: path.join(folder, "cut.png") },
    ];
  };
  expect(await generate()).toMatchObject({
    ...{ state: "saved", error: null },
    warnings: [expect.stringMatching(/^1 more image was received but not saved/)],
  });
  expect(linesIn({ stateFolder }).folder).toBe("done");
});

describe("a job with two result URLs", () => {
  /** @param statuses of the files, in the order of the URLs; changed by a test as it goes on */
  async function twoUrls(statuses: number[]) {
    const server = await liveServer(({ target }, socket) => {
      const at = Number(target.slice(1));
      socket.write(statuses[at] === 200 ? response(200, png(at)) : response(statuses[at] ?? 500, ""));
    });
    const urls = [0, 1].map((at) => `${server.origin}/${at}`);
    const world = await worldOf([1]);
    const poll = async (): Promise<PollReply> => ({ outcome: "state", task: { status: "completed", urls } });
    Object.assign(world.provider, { poll });
    const id = await world.leave([started, { ...accepted, taskId: "job0" }, { ...completed, urls }]);
    return { ...world, id };
  }

  it.each([
    [404, 503],
    [503, 404],
  ])("is not gone while one of its images (%i, %i) might be downloaded later", async (...statuses) => {
    const { id, resume, dismiss } = await twoUrls(statuses);
    expect(await resume(id)).toMatchObject({ error: { type: "save_failed" } });
    await expect(dismiss(id)).rejects.toThrow("cannot be dismissed");
  });

  it("of which the first is gone is dismissed as saved and charged", async () => {
    const { id, resume, dismiss } = await twoUrls([404, 200]);
    expect(await resume(id)).toMatchObject({ error: { type: "save_failed" } });
    expect(await dismiss(id)).toMatchObject({ state: "saved", charged: "yes", files: [{ width: 9 }] });
  });
});

it.each([[[16, 16]], [[0, 16]], [[1, 1, 16]], [[-1, 2]], [[1e9, 1]], [[0.5]]])(
  "invalid or wrong image counts %j in a ledger lose no image",
  async (imageCounts) => {
    const { put, leave, leaveReply, resume, saved, stateFolder } = await worldOf([2, 2]);
    const lines = [...linesOf(0, here), ...linesOf(1, here)];
    const id = await leave([...lines, { ...partly_saved, files: [await put(0, 0), null], imageCounts }]);
    for (const request of [0, 1]) await leaveReply(id, request);
    expect(await resume(id)).toMatchObject({ state: "saved", error: null });
    expect(new Set(await saved()).size).toBe(4);
    expect(linesIn({ stateFolder }).folder).toBe("done");
  },
);

describe("several jobs with result URLs", () => {
  /** @param statuses of the images of each job; a request without any has lost its reply */
  async function jobsOf(statuses: readonly number[][]) {
    const hits = new Map<string, number>();
    const server = await liveServer(({ target }, socket) => {
      hits.set(target, (hits.get(target) ?? 0) + 1);
      const [, status, number] = /^\/(\d+)-(\d+)/.exec(target) ?? [];
      const image = status === "200" ? png(Number(number)) : "";
      socket.write(response(Number(status), image));
    });
    const answer: Answer = async ({ index }) =>
      statuses[index]?.length === 0 ? lost() : { outcome: "accepted", taskId: `job${index}` };
    const world = await worldOf(
      statuses.map(() => 1),
      answer,
    );
    const urlsOf = (index: number) =>
      (statuses[index] ?? []).map((status, at) => `${server.origin}/${status}-${20 * index + at}`);
    const poll = async (id: string): Promise<PollReply> => ({
      outcome: "state",
      task: { status: "completed", urls: urlsOf(Number(id.slice(3))) },
    });
    Object.assign(world.provider, { poll });
    return { ...world, hits, urlsOf };
  }

  it("are each downloaded in one pass of a run, however many of them fail", async () => {
    const { generate, hits } = await jobsOf(Array.from({ length: 6 }, () => [503]));
    expect(await generate()).toMatchObject({ error: { type: "save_failed" } });
    expect(hits.size).toBe(6);
    expect(Math.max(...hits.values())).toBe(6);
  });

  it("that an earlier version has saved in another order are saved again, each as itself", async () => {
    const { put, leave, urlsOf, resume, saved } = await jobsOf([
      [200, 200, 200],
      [200, 200],
    ]);
    const order = [
      [0, 0],
      [1, 0],
      [0, 1],
      [0, 2],
      [1, 1],
    ] as const;
    const files = await Promise.all(
      order.map(async ([request, at]) => ({ ...(await put(request, at)), url: urlsOf(request)[at] ?? "" })),
    );
    const lines = [0, 1].flatMap((request) => [
      ...linesOf(request, { ...accepted, taskId: `job${request}` }),
      { ...completed, request, urls: urlsOf(request) },
    ]);
    const id = await leave([...lines, { ...LINES.saved, files }]);
    await rm(files[3]?.path ?? "");
    expect(await resume(id)).toMatchObject({ state: "saved", error: null });
    const digests = await saved();
    const all = order.map(([request, at]) => sha256(imageOf(request, at)));
    expect(all.filter((digest) => !digests.includes(digest))).toEqual([]);
  });

  it("are at their end if what is not saved is gone or lost", async () => {
    const { generate, deps } = await jobsOf([[200, 404], []]);
    const { ledgerId } = await generate();
    const task = await deps.ledger.find(ledgerId ?? "");
    if (task === null) throw new Error("no task");
    expect(isAtEnd(task)).toBe(true);
    expect(getTaskEnd(task)).toMatchObject({ name: "completed", files: [{ width: 8 }] });
  });
});

it("an image of a reply that cannot be kept is saved once, and its task stays open", async () => {
  const answer: Answer = async ({ index, folder }) => {
    if (index === 1) return lost();
    await writeFile(path.join(folder, "cut.png"), png().subarray(0, 40));
    return { outcome: "made", usage: null };
  };
  const { generate, dismiss, provider, output, stateFolder } = await worldOf([2, 0], answer);
  const { images } = provider;
  provider.images = async (job) => [
    ...((await images?.(job)) ?? []),
    { kind: "file", file: path.join(job.folder, "cut.png") },
  ];
  await mkdir(path.join(stateFolder, "tasks"), { recursive: true });
  await writeFile(path.join(stateFolder, "tasks", "kept"), "a file, and no folder");
  const { ledgerId, error } = await generate();
  expect(error).toMatchObject({ type: "save_failed" });
  expect(await readdir(output)).toHaveLength(2);
  await dismiss(ledgerId ?? "");
  expect(linesIn({ stateFolder }).folder).toBe("open");
});
