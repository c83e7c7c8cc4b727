import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import type { Reference } from "../../src/generators/generator.ts";
import { type ReferenceDeps, referenceFiles } from "../../src/generators/reference-files.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { response } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { ALONE } from "./job.ts";

async function filesOf(references: Reference[], more: Partial<ReferenceDeps> = {}) {
  const folder = await temporaryFolder();
  const generatorUrl = new URL("http://localhost:1234");
  const deps = { generatorUrl, proxies: undefined, clock: systemClock, signal: ALONE.signal, ...more };
  const files = await referenceFiles({ references }, path.join(folder, "reference"), deps);
  return { folder, files };
}

it("has every reference image in a file with the extension of its bytes", async () => {
  const server = await liveServer((_request, socket) => void socket.write(response(200, PICTURE)));
  const copy = path.join(await temporaryFolder(), "0123");
  await writeFile(copy, PICTURE);
  const { folder, files } = await filesOf([
    { file: copy, mediaType: "image/jpeg" },
    { url: `${server.origin}/fox.jpg?signature=s` },
    { url: `data:image/webp;base64,${PICTURE.toString("base64")}` },
  ]);
  expect(await readdir(folder)).toEqual(["reference-1.png", "reference-2.png", "reference-3.png"]);
  expect(files.map(({ mediaType }) => mediaType)).toEqual(Array(3).fill("image/png"));
  for (const { file } of files) expect(await readFile(file)).toEqual(PICTURE);
});

const rejects = (running: Promise<unknown>, kind: string, message: RegExp) =>
  expect(running).rejects.toMatchObject({
    name: "GeneratorError",
    failure: { kind },
    message: expect.stringMatching(message),
  });

it.each([
  ["cut short", PICTURE.subarray(0, -10), /is incomplete/],
  ["not an image", Buffer.from("<html>"), /is not an image: an HTML page/],
])("refuses one that is %s, wherever it comes from", async (_what, bytes, message) => {
  const server = await liveServer((_request, socket) => void socket.write(response(200, bytes)));
  const file = path.join(await temporaryFolder(), "0123");
  await writeFile(file, bytes);
  await rejects(filesOf([{ url: `${server.origin}/fox.png` }]), "refused", message);
  await rejects(filesOf([{ file, mediaType: "image/png" }]), "refused", message);
  const url = `data:image/png;base64,${bytes.toString("base64")}`;
  await rejects(filesOf([{ url }]), "refused", message);
});

it("refuses one that is gone, and leaves the job for later where its server is in trouble", async () => {
  const statuses = [404, 503];
  const server = await liveServer((_request, socket) => {
    socket.write(response(statuses.shift() ?? 500, "", { "retry-after": "7" }));
  });
  const url = `${server.origin}/fox.png`;
  await rejects(filesOf([{ url }]), "refused", /HTTP 404/);
  await rejects(filesOf([{ url }]), "busy", /HTTP 503/);
});

it("refuses a file that is gone", async () => {
  const file = path.join(await temporaryFolder(), "0123");
  await rejects(filesOf([{ file, mediaType: "image/png" }]), "refused", /cannot be read: no such file/);
});

it("fetches nothing from a private network for a generator on the internet", async () => {
  const server = await liveServer((_request, socket) => void socket.write(response(200, PICTURE)));
  const generatorUrl = new URL("https://images.example.com/v1");
  const references = [{ url: `https://127.0.0.1:${server.port}/fox.png` }];
  await rejects(filesOf(references, { generatorUrl }), "refused", /127\.0\.0\.1 is not a public address/);
  expect(server.requests).toEqual([]);
});

it("ends where the job is given up", async () => {
  const server = await liveServer(() => {});
  const stop = new AbortController();
  const running = filesOf([{ url: `${server.origin}/fox.png` }], { signal: stop.signal });
  await expect.poll(() => server.requests.length).toBe(1);
  stop.abort(new Error("given up"));
  await expect(running).rejects.toThrow("given up");
});
