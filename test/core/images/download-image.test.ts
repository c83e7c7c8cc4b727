import { setMaxListeners } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { TaskDeps } from "../../../src/core/engine/deps.ts";
import { type DownloadedImage, downloadImage } from "../../../src/core/images/download-image.ts";
import { png, sha256 } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { type Behaviour, response } from "../../support/scripted-server.ts";
import { taskWorld } from "../../support/task-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { tinyDisk } from "../../support/tiny-disk.ts";
import { pause } from "../../support/wait.ts";

const IMAGE = png();
const HTML = "<!DOCTYPE html><title>Not here</title>";

interface Fetch {
  /** What each request in turn is met with; the last of them meets all further ones too. */
  answers: (Buffer | Behaviour)[];
  fresh?: string[];
  folder?: string;
  deps?: Partial<TaskDeps>;
}

/** Fetches an image from a server that answers as scripted, all waits being over at once. */
async function fetching({ answers, fresh = [], folder, deps = {} }: Fetch) {
  let at = 0;
  const server = await liveServer((request, socket) => {
    const answer = answers[Math.min(at++, answers.length - 1)];
    if (typeof answer === "function") return answer(request, socket);
    if (answer) socket.end(answer);
  });
  const world = await taskWorld(server.baseUrl);
  const place = folder ?? (await temporaryFolder());
  const temporary = path.join(place, ".imggen-test-1.part");
  let asked = 0;
  const freshUrl = async () => {
    const next = fresh[asked++];
    return next === undefined ? null : `${server.origin}${next}`;
  };
  const outcome = await downloadImage(
    { url: `${server.origin}/1.png?sig=s3cret`, taskId: "task-1", freshUrl },
    temporary,
    { ...world.deps, ...deps },
  ).catch((error: unknown) => error);
  return { outcome, temporary, place, server, ...world, asked: () => asked };
}

/** Cut short, with the length of the whole. */
const cutShort = response(200, IMAGE.subarray(0, 40), { "content-length": String(IMAGE.length) });
/** Cut short, with no length: only the image itself can tell. */
const cutShortUnnoticed = Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\n\r\n"), IMAGE.subarray(0, 40)]);

describe("an image that is fetched", () => {
  it("is whole, hashed, of the type that its bytes have, and of the mode that was asked for", async () => {
    const { outcome, temporary } = await fetching({
      answers: [response(200, IMAGE)],
      deps: { fileMode: 0o640 },
    });
    expect(outcome).toMatchObject({
      temporary,
      bytes: IMAGE.length,
      sha256: sha256(IMAGE),
      image: { mediaType: "image/png", extension: "png", width: 8, height: 6 },
    });
    expect((await readFile(temporary)).equals(IMAGE)).toBe(true);
    expect((await stat(temporary)).mode & 0o777).toBe(0o640);
  });

  it("is for its owner's eyes alone until it is whole", async () => {
    const folder = await temporaryFolder();
    const modes: number[] = [];
    const halfWay: Behaviour = async (_request, socket) => {
      const whole = response(200, IMAGE);
      socket.write(whole.subarray(0, whole.length - 20));
      while ((await readdir(folder)).length === 0) await pause(1);
      for (const name of await readdir(folder))
        modes.push((await stat(path.join(folder, name))).mode & 0o777);
      socket.end(whole.subarray(whole.length - 20));
    };
    const { outcome } = await fetching({ answers: [halfWay], folder });
    expect(outcome).toMatchObject({ bytes: IMAGE.length });
    expect(modes).toEqual([0o600]);
  });

  it.each([
    ["a file that is there already: another process may be writing it", "EEXIST", "."],
    ["a folder that is gone", "ENOENT", "gone"],
  ])("never goes into %s", async (_what, code, below) => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, ".imggen-test-1.part"), "another's");
    const { outcome } = await fetching({ answers: [response(200, IMAGE)], folder: path.join(folder, below) });
    expect(outcome).toMatchObject({ type: "save_failed", message: expect.stringContaining(code) });
  });
});

const GONE = response(410, "");

describe("an image that is no longer there", () => {
  it("has expired for good once a new URL does not work either", async () => {
    const { outcome, asked, place } = await fetching({ answers: [GONE], fresh: ["/new.png", "/newer.png"] });
    expect(outcome).toMatchObject({
      type: "save_failed",
      charged: "yes",
      message: expect.stringContaining("its URL has expired, HTTP 410"),
      hint: expect.stringContaining("another try would fail too"),
    });
    expect([asked(), await readdir(place)]).toEqual([1, []]);
  });

  it("may be had later where its provider did not answer with a new URL, which is not promised", async () => {
    const { outcome } = await fetching({ answers: [GONE] });
    const hint = expect.stringContaining("may have removed the image. To try again: imggen resume");
    expect(outcome).toMatchObject({ message: expect.stringContaining("has expired"), hint });
  });
});

it("at most 16 images are downloaded at once, and the next begins when one has ended", async () => {
  const ends: (() => void)[] = [];
  let onArrival = () => {};
  const server = await liveServer((_request, socket) => {
    ends.push(() => socket.end(response(200, IMAGE)));
    onArrival();
  });
  const arrived = async (count: number) => {
    while (ends.length < count) await new Promise<void>((resolve) => (onArrival = resolve));
  };
  const { deps } = await taskWorld(server.baseUrl);
  setMaxListeners(0, deps.signal);
  const folder = await temporaryFolder();
  const freshUrl = async () => null;
  const all = Array.from({ length: 20 }, (_, at) =>
    downloadImage({ url: server.origin, taskId: "task-1", freshUrl }, path.join(folder, `${at}.part`), deps),
  );
  await arrived(16);
  await pause(50);
  expect(ends).toHaveLength(16);
  ends[0]?.();
  await arrived(17);
  expect(ends).toHaveLength(17);
  for (let at = 1; at < 20; at++) {
    await arrived(at + 1);
    ends[at]?.();
  }
  expect(await Promise.all(all)).toHaveLength(20);
});

describe("a fetch is tried again after", () => {
  it.each<[string, Buffer | Behaviour]>([
    ["a cut connection", (_request, socket) => void socket.resetAndDestroy()],
    ["HTTP 500", response(500, "")],
    ["an image cut short of its length", cutShort],
    ["an image cut short without a length", cutShortUnnoticed],
    ["an HTML page in place of the image", response(200, HTML, { "content-type": "image/png" })],
    ["an SVG in place of the image", response(200, '<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ["nothing at all in place of the image", response(200, "")],
  ])("%s", async (_what, trouble) => {
    const { outcome, server, temporary, events } = await fetching({
      answers: [trouble, response(200, IMAGE)],
    });
    expect(outcome).toMatchObject({ sha256: sha256(IMAGE) });
    expect((await readFile(temporary)).equals(IMAGE)).toBe(true);
    expect(server.requests).toHaveLength(2);
    expect(events).toEqual([
      { type: "download_retry", taskId: "task-1", why: expect.any(String), delayMs: 250 },
    ]);
  });

  it("five times after an error, with longer and longer waits, and not after the sixth", async () => {
    const { outcome, clock, server, place } = await fetching({ answers: [response(500, "")] });
    expect(outcome).toMatchObject({
      type: "save_failed",
      charged: "yes",
      message: expect.stringContaining("HTTP 500"),
    });
    expect(server.requests).toHaveLength(6);
    expect(clock.waits).toEqual([250, 500, 1000, 2000, 4000]);
    expect(await readdir(place)).toEqual([]);
  });

  it("as long as the service asks for, up to two minutes", async () => {
    const busy = response(503, "", { "retry-after": "90" });
    expect((await fetching({ answers: [busy, response(200, IMAGE)] })).clock.waits).toEqual([90_000]);
    const closed = await fetching({ answers: [response(503, "", { "retry-after": "3600" })] });
    expect(closed.outcome).toMatchObject({ type: "save_failed" });
    expect(closed.clock.waits).toEqual([]);
  });
});

describe("a file of another type than an image", () => {
  const answers = [response(200, "%PDF-1.7 one"), response(200, "%PDF-1.7 two")];

  it("is kept once a second download in a row has the same bytes", async () => {
    const { outcome, server, temporary } = await fetching({ answers });
    expect(outcome).toMatchObject({ image: { type: "other", extension: "pdf", width: 0 } });
    expect(await readFile(temporary, "utf8")).toBe("%PDF-1.7 two");
    expect(server.requests).toHaveLength(3);
  });

  it("is not kept if the next download is an image", async () => {
    const { outcome, temporary } = await fetching({ answers: [...answers, response(200, IMAGE)] });
    expect(outcome).toMatchObject({ sha256: sha256(IMAGE) });
    expect((await readFile(temporary)).equals(IMAGE)).toBe(true);
  });
});

describe("a URL that is gone", () => {
  it.each([403, 404, 410])("(HTTP %i) is asked for again, once", async (status) => {
    const { outcome, server } = await fetching({
      answers: [response(status, HTML), response(200, IMAGE)],
      fresh: ["/fresh.png"],
    });
    expect(outcome).toMatchObject({ url: `${server.origin}/fresh.png`, sha256: sha256(IMAGE) });
    expect(server.requests.map(({ target }) => target)).toEqual(["/1.png?sig=s3cret", "/fresh.png"]);
  });
});

describe("a fetch ends at once", () => {
  it("at a URL that must not be followed, and does not show its query", async () => {
    const moved = response(302, "", { location: "file:///etc/passwd?sig=s3cret" });
    const { outcome, server } = await fetching({ answers: [moved] });
    expect(outcome).toMatchObject({ type: "save_failed", charged: "yes" });
    expect((outcome as Error).message).not.toContain("s3cret");
    expect(server.requests).toHaveLength(1);
  });

  it("when it is interrupted, and leaves nothing behind", async () => {
    const controller = new AbortController();
    const reason = new Error("stop");
    const { outcome, place } = await fetching({
      answers: [
        (_request, socket) => {
          socket.write(cutShort);
          setTimeout(() => controller.abort(reason), 20);
        },
      ],
      deps: { signal: controller.signal },
    });
    expect(outcome).toBe(reason);
    expect(await readdir(place)).toEqual([]);
  });

  it("on a full disk, with the image still at the service", async ({ skip }) => {
    const folder = tinyDisk(64);
    if (folder === null) return skip("needs permission to mount");
    const big = Buffer.concat([IMAGE.subarray(0, 40), Buffer.alloc(3_000_000)]);
    const { outcome } = await fetching({ answers: [response(200, big)], folder });
    expect(outcome).toMatchObject({
      type: "save_failed",
      charged: "yes",
      message: expect.stringContaining("ENOSPC"),
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

it("an image in which nothing comes any more is downloaded again", async () => {
  const half: Behaviour = (_request, socket) => void socket.write(cutShort);
  const { outcome, events } = await fetching({
    answers: [half, response(200, IMAGE)],
    deps: { downloadIdleMs: 500 },
  });
  expect((outcome as DownloadedImage).sha256).toBe(sha256(IMAGE));
  expect(events).toMatchObject([{ type: "download_retry", why: "no answer within 500 ms" }]);
});
