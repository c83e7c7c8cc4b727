import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { inspectBytes } from "../../src/lib/image/inspect.ts";
import { pictureDimensions } from "../../src/models/dimensions.ts";
import { type DrawPicture, drawPicture } from "../../src/painter/draw-picture.ts";
import type { SandboxOptions } from "../../src/sandbox/server.ts";
import { png } from "../support/images.ts";
import { liveSandbox } from "./live.ts";

async function download(url: string) {
  const response = await fetch(url);
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

it.each([
  [{}, "1:1", undefined],
  [{ ratio: "16:9", quality: "2K" }, "16:9", "2K"],
  [{ ratio: "21:9" }, "21:9", undefined],
  [{ model: "z-image", ratio: "9:16" }, "9:16", undefined],
  [{ model: "vendor2/beta-v4.5", ratio: "3:2", quality: "high" }, "3:2", "high"],
  [{ model: "gamma-image-2" }, "auto", undefined],
])("the image of %j is a whole PNG of that size", async (request, ratio, quality) => {
  const { made } = await liveSandbox();
  const [url = ""] = await made({ prompt: "a fox in the snow", ...request });
  const { response, bytes } = await download(url);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("image/png");
  const image = { type: "png", ...pictureDimensions(ratio, quality) };
  expect(inspectBytes(bytes)).toMatchObject({ ok: true, image });
});

/** Paints what the prompt says, but so small that it takes no time. */
const small: DrawPicture = (spec) => drawPicture({ ...spec, width: 96, height: 96 });

it("the images of one task differ, and each is the same whenever it is fetched", async () => {
  const { made } = await liveSandbox({ draw: small });
  const [first = "", second = ""] = await made({ prompt: "a fox", model: "vendor2/beta-v4", maxImages: 2 });
  const { bytes } = await download(first);
  expect((await download(first)).bytes.equals(bytes)).toBe(true);
  expect((await download(second)).bytes.equals(bytes)).toBe(false);
});

it("each task gets an image of its own, which a restarted sandbox serves as the same bytes", async () => {
  const first = await liveSandbox({ draw: small });
  const taskId = await first.accepted({ prompt: "a fox in the snow" });
  const [url = ""] = await first.made({ prompt: "a fox in the snow" });
  const urlOf = async ({ poll }: typeof first) =>
    [(await poll(taskId)).body.data?.resultUrl ?? ""].flat()[0] ?? "";
  const { bytes } = await download(await urlOf(first));
  expect((await download(url)).bytes.equals(bytes)).toBe(false);
  const second = await liveSandbox({ folder: first.folder, draw: small });
  expect((await download(await urlOf(second))).bytes.equals(bytes)).toBe(true);
});

it("the URLs of reference images are not kept, only what tells them apart", async () => {
  const { folder, accepted } = await liveSandbox();
  const image = "https://example.com/cat.png?signature=secret";
  const taskId = await accepted({ prompt: "a fox", model: "gamma-image-2", image });
  const stored = await readFile(path.join(folder, "tasks", `${taskId}.json`), "utf8");
  expect(JSON.parse(stored).references).toMatch(/^[0-9a-f]{64}$/);
  expect(stored).not.toContain("example.com");
});

it("a task that was stored before references were is still served", async () => {
  const { folder, accepted, poll } = await liveSandbox();
  const image = "https://example.com/cat.png";
  const taskId = await accepted({ prompt: "a fox", model: "gamma-image-2", image });
  const file = path.join(folder, "tasks", `${taskId}.json`);
  const { references: _, ...older } = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify(older));
  const [url = ""] = [(await poll(taskId)).body.data?.resultUrl ?? ""].flat();
  expect(inspectBytes((await download(url)).bytes)).toMatchObject({ ok: true });
});

it("an image's address needs no key, and is good for an hour from the poll", async () => {
  const clock = { time: 1_700_000_000_000, now: () => clock.time };
  const { made } = await liveSandbox({ clock });
  const [url = ""] = await made({ prompt: "a fox" });
  clock.time += 3_599_999;
  expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
  clock.time += 1;
  const late = await fetch(url);
  expect(late.status).toBe(403);
  expect(await late.json()).toEqual({ code: -1, message: "image_generation.error.unknown_error" });
});

/** Changes the path of an address. */
function at(change: (path: string) => string) {
  return (url: URL) => {
    url.pathname = change(url.pathname);
  };
}

it.each<[string, (url: URL) => void]>([
  ["without a signature", (url) => url.searchParams.delete("signature")],
  ["with another signature", (url) => url.searchParams.set("signature", "0".repeat(64))],
  ["with a signature that is no hexadecimal", (url) => url.searchParams.set("signature", "ö".repeat(32))],
  ["without its time", (url) => url.searchParams.delete("expires")],
  ["with a later time", (url) => url.searchParams.set("expires", "9999999999")],
  ["with a time that is no number", (url) => url.searchParams.set("expires", "never")],
  ["of another image", at((path) => path.replace("0.png", "1.png"))],
  ["of another task", at(() => "/files/task_00000000000000000000/0.png")],
  ["of another type", at((path) => path.replace(".png", ".jpg"))],
  ["that climbs out", at(() => "/files/..%2f..%2fsecret/0.png")],
])("an address %s is refused", async (_, change) => {
  const { made } = await liveSandbox();
  const url = new URL((await made({ prompt: "a fox" }))[0] ?? "");
  change(url);
  const response = await fetch(url);
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({ code: -1 });
});

it("the address of a task that is gone from the disk is not found", async () => {
  const { folder, made } = await liveSandbox();
  const [url = ""] = await made({ prompt: "a fox" });
  await rm(path.join(folder, "tasks"), { recursive: true });
  expect((await fetch(url)).status).toBe(404);
});

it("a client that hangs up in the middle of an image stops its drawing and affects no other", async () => {
  let tell = () => {};
  const hasHungUp = new Promise<void>((resolve) => (tell = resolve));
  const onRequest: SandboxOptions["onRequest"] = ({ note }) => note === "the client disconnected" && tell();
  const { made } = await liveSandbox({ draw: undefined, onRequest });
  const [url = ""] = await made({ prompt: "a fox", ratio: "16:9", quality: "4K" });
  const leaving = new AbortController();
  const response = await fetch(url, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await hasHungUp;
  expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
});

it("HEAD answers without drawing", async () => {
  let drawn = 0;
  async function* draw(): AsyncGenerator<Buffer> {
    drawn += 1;
    yield png();
  }
  const { made } = await liveSandbox({ draw });
  const [url = ""] = await made({ prompt: "a fox" });
  expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
  expect(drawn).toBe(0);
  await download(url);
  expect(drawn).toBe(1);
});
