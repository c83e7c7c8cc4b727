import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { type Reference, TimeLimitError } from "../../src/providers/provider.ts";
import { type ReferenceDeps, referenceFiles, referenceUrls } from "../../src/providers/reference-files.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { response } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { ALONE } from "./job.ts";

async function filesOf(references: Reference[], more: Partial<ReferenceDeps> = {}) {
  const folder = await temporaryFolder();
  const generatorUrl = new URL("http://localhost:1234");
  const deps = { generatorUrl, proxies: undefined, clock: systemClock, signal: ALONE.signal, ...more };
  const files = await referenceFiles({ references, folder }, deps);
  return { folder, files };
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
])("refuses one that is %s, wherever it comes from", async (_what, bytes, message) => {
  const server = await liveServer(response(200, bytes));
  const file = path.join(await temporaryFolder(), "0123");
  await writeFile(file, bytes);
  const downloaded = new RegExp(`${message.source.replace("is not", "not")}.*, 3 times\\.$`);
  await rejects(filesOf([{ url: `${server.origin}/fox.png` }]), "invalid", downloaded);
  await rejects(filesOf([{ file, mediaType: "image/png" }]), "invalid", message);
  const url = `data:image/png;base64,${bytes.toString("base64")}`;
  await rejects(filesOf([{ url }]), "invalid", message);
});

it("downloads one again that arrived cut short", async () => {
  const bodies = [PICTURE.subarray(0, -10), PICTURE];
  const server = await liveServer(
    (_request, socket) => void socket.write(response(200, bodies.shift() ?? "")),
  );
  const { files } = await filesOf([{ url: `${server.origin}/fox.png` }]);
  expect(files).toMatchObject([{ mediaType: "image/png" }]);
  expect(server.requests).toHaveLength(2);
});

it.each([
  ["cut short", PICTURE.subarray(0, -10), /is incomplete/],
  ["emptied", Buffer.alloc(0), /is not an image: empty/],
])(
  "refuses a file that was %s since it was checked, where it is sent as a URL",
  async (_what, bytes, message) => {
    const file = path.join(await temporaryFolder(), "0123.png");
    await writeFile(file, bytes);
    const urls = async () => referenceUrls([{ file, mediaType: "image/png" }], {});
    await rejects(urls(), "invalid", message);
  },
);

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

/** Nothing is waited for; `waits` are the waits in milliseconds. */
function hurriedClock() {
  const waits: number[] = [];
  const sleep = async (ms: number) => void waits.push(ms);
  return { waits, clock: { ...systemClock, sleep } };
}

it("tells of every request, as for --verbose", async () => {
  const server = await liveServer(response(200, PICTURE));
  const seen: string[] = [];
  await filesOf([{ url: `${server.origin}/fox.png` }], {
    onExchange: ({ url, result }) => seen.push(`${new URL(url).pathname} ${result}`),
  });
  expect(seen).toEqual(["/fox.png 200"]);
});

it("asks a server in trouble again, not before it says", async () => {
  const replies = [response(503, "", { "retry-after": "7" }), response(500, ""), response(200, PICTURE)];
  const server = await liveServer((_request, socket) => void socket.write(replies.shift() ?? ""));
  const { waits, clock } = hurriedClock();
  const { files } = await filesOf([{ url: `${server.origin}/fox.png` }], { clock });
  expect(files).toHaveLength(1);
  expect([waits[0], waits.length]).toEqual([7000, 2]);
});

it.each([
  ["is gone", response(404, ""), /HTTP 404\.$/, 1],
  ["is in trouble for ever", response(503, ""), /HTTP 503, 3 times\.$/, 3],
  [
    "is to be had in an hour",
    response(503, "", { "retry-after": "3600" }),
    /HTTP 503, try again later\.$/,
    1,
  ],
])("refuses one that %s: no other job has to wait for it", async (_what, reply, message, requests) => {
  const server = await liveServer(reply);
  const { clock } = hurriedClock();
  await rejects(filesOf([{ url: `${server.origin}/fox.png` }], { clock }), "invalid", message);
  expect(server.requests).toHaveLength(requests);
});

it("refuses one whose host does not exist", async () => {
  const { clock } = hurriedClock();
  const references = [{ url: "http://no-such-host.invalid/fox.png" }];
  await rejects(filesOf(references, { clock }), "invalid", /could not be downloaded: .*, 3 times\.$/);
});

it("refuses a data: URL that cannot be decoded", async () => {
  await rejects(filesOf([{ url: "data:image/png;base64" }]), "invalid", /in a data: URL cannot be read\.$/);
});

it("refuses a file that is gone", async () => {
  const file = path.join(await temporaryFolder(), "0123");
  await rejects(filesOf([{ file, mediaType: "image/png" }]), "invalid", /cannot be read: no such file/);
});

it("fetches nothing from a private network for a generator on the internet", async () => {
  const server = await liveServer(response(200, PICTURE));
  const generatorUrl = new URL("https://images.example.com/v1");
  const references = [{ url: `https://127.0.0.1:${server.port}/fox.png` }];
  await rejects(filesOf(references, { generatorUrl }), "invalid", /127\.0\.0\.1 is not a public address/);
  expect(server.requests).toEqual([]);
});

it.each([
  ["leaves the job for later where it is given up", new Error("given up"), "unsent", /was not waited for/],
  [
    "refuses one for which a job's time is too short",
    new TimeLimitError("over"),
    "invalid",
    /the time .* over/,
  ],
])("%s: nothing has been sent", async (_what, reason, kind, message) => {
  const stop = new AbortController();
  const server = await liveServer(() => stop.abort(reason));
  await rejects(filesOf([{ url: `${server.origin}/fox.png` }], { signal: stop.signal }), kind, message);
  expect(server.requests).toHaveLength(1);
});
