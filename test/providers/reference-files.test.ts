import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

import { type Reference, TimeLimitError } from "../../src/providers/provider.ts";
import { type ReferenceDeps, referenceFiles, referenceUrls } from "../../src/providers/reference-files.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { type Answer, response } from "../support/scripted-server.ts";
import { inTurn } from "../support/scripts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { ALONE, fileReference } from "./job.ts";

async function filesOf(references: Reference[], more: Partial<ReferenceDeps> = {}) {
  const folder = await temporaryFolder();
  const generatorUrl = new URL("http://localhost:1234");
  const deps = { generatorUrl, proxies: undefined, clock: fakeClock(), signal: ALONE.signal, ...more };
  const files = await referenceFiles({ references, folder }, deps);
  return { folder, files };
}

/** A server that answers so, and a reference image there. */
async function elsewhere(answer: Answer) {
  const server = await liveServer(answer);
  return { server, references: [{ url: `${server.origin}/fox.png` }] };
}

it("has every reference image in a file with the extension of its bytes", async () => {
  const server = await liveServer(response(200, PICTURE));
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
    name: "ProviderError",
    failure: { kind },
    message: expect.stringMatching(message),
  });

it.each([
  ["cut short", PICTURE.subarray(0, -10), /is incomplete/],
  ["not an image", Buffer.from("<html>"), /is not an image: an HTML page/],
  ["emptied", Buffer.alloc(0), /is not an image: empty/],
])("refuses one that is %s, wherever it comes from", async (_what, bytes, message) => {
  const { references } = await elsewhere(response(200, bytes));
  const downloaded = new RegExp(`${message.source.replace("is not", "not")}.*, 3 times\\.$`);
  await rejects(filesOf(references), "invalid", downloaded);
  const file = await fileReference(bytes);
  await rejects(filesOf([file]), "invalid", message);
  await rejects((async () => referenceUrls([file], {}))(), "invalid", message);
  const url = `data:image/png;base64,${bytes.toString("base64")}`;
  await rejects(filesOf([{ url }]), "invalid", message);
});

it("downloads one again that arrived cut short", async () => {
  const cut = response(200, PICTURE.subarray(0, -10));
  const { server, references } = await elsewhere(inTurn(cut, response(200, PICTURE)));
  expect((await filesOf(references)).files).toMatchObject([{ mediaType: "image/png" }]);
  expect(server.requests).toHaveLength(2);
});

it("refuses what has become a folder or a pipe, which nobody waits for", async () => {
  const folder = await temporaryFolder();
  const pipe = path.join(folder, "fox.png");
  execFileSync("mkfifo", [pipe]);
  for (const [file, message] of [
    [folder, /cannot be read/],
    [pipe, /is not an image: empty/],
  ] as const) {
    const reference = { file, mediaType: "image/png" };
    await rejects(filesOf([reference]), "invalid", message);
    await rejects((async () => referenceUrls([reference], {}))(), "invalid", message);
  }
});

it("tells of every request, as for --verbose", async () => {
  const { references } = await elsewhere(response(200, PICTURE));
  const seen: string[] = [];
  const onExchange: ReferenceDeps["onExchange"] = ({ url, result }) =>
    seen.push(`${new URL(url).pathname} ${result}`);
  await filesOf(references, { onExchange });
  expect(seen).toEqual(["/fox.png 200"]);
});

it("asks a server in trouble again, not before it says", async () => {
  const busy = response(503, "", { "retry-after": "7" });
  const { references } = await elsewhere(inTurn(busy, response(500, ""), response(200, PICTURE)));
  const clock = fakeClock();
  expect((await filesOf(references, { clock })).files).toHaveLength(1);
  expect([clock.waits[0], clock.waits.length]).toEqual([7000, 2]);
});

it.each([
  ["is gone", response(404, ""), /HTTP 404\.$/, 1],
  ["is in trouble for ever", response(503, ""), /HTTP 503, 3 times\.$/, 3],
  ["is there in an hour", response(503, "", { "retry-after": "3600" }), /HTTP 503, try again later\.$/, 1],
])("refuses one that %s: no other job has to wait for it", async (_what, reply, message, requests) => {
  const { server, references } = await elsewhere(reply);
  await rejects(filesOf(references), "invalid", message);
  expect(server.requests).toHaveLength(requests);
});

it.each([
  [
    "whose host does not exist",
    { url: "http://no-such-host.invalid/fox.png" },
    /not be downloaded: .*, 3 times\.$/,
  ],
  ["whose data: URL cannot be decoded", { url: "data:image/png;base64" }, /in a data: URL cannot be read\.$/],
  ["whose file is gone", { file: "/nowhere/fox.png", mediaType: "image/png" }, /be read: no such file/],
])("refuses one %s", async (_what, reference, message) => {
  await rejects(filesOf([reference]), "invalid", message);
});

it("fetches nothing from a private network for a generator on the internet", async () => {
  const server = await liveServer(response(200, PICTURE));
  const generatorUrl = new URL("https://images.example.com/v1");
  const references = [{ url: `https://127.0.0.1:${server.port}/fox.png` }];
  await rejects(filesOf(references, { generatorUrl }), "invalid", /127\.0\.0\.1 is not a public address/);
  expect(server.requests).toEqual([]);
});

it.each([
  ["leaves the job for later where it is given up", new Error("given up"), "unsent", /was stopped/],
  [
    "refuses one for which a job's time is too short",
    new TimeLimitError("over"),
    "invalid",
    /the time limit .* exceeded/,
  ],
])("%s: nothing has been sent", async (_what, reason, kind, message) => {
  const stop = new AbortController();
  const server = await liveServer(() => stop.abort(reason));
  await rejects(filesOf([{ url: `${server.origin}/fox.png` }], { signal: stop.signal }), kind, message);
  expect(server.requests).toHaveLength(1);
});
