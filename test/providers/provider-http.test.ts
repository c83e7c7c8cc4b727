import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Proxies } from "../../src/api/proxies.ts";
import { errorCode, errorText } from "../../src/lib/error-text.ts";
import { ProviderServer, type ServerOptions } from "../../src/providers/provider-http.ts";
import { ReplyFile } from "../../src/providers/reply-file.ts";
import { readReplyFile, replyFile, type StoredReply } from "../../src/providers/stored-reply.ts";
import { CANARY } from "../support/canary.ts";
import { liveServer } from "../support/live-server.ts";
import { quickClock } from "../support/quick-clock.ts";
import { type Answer, json, response } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tinyDisk } from "../support/tiny-disk.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { ALONE, jobFor } from "./job.ts";

const BODY = { type: "application/json", content: "{}" };

/** What is set about a server, whichever of its parts it belongs to. */
type Given = Partial<Omit<ServerOptions, "options"> & ServerOptions["options"]>;

function optionsOf({ headers = {}, key = null, ...server }: Given, url: string): ServerOptions {
  return { url, keyHeaders: {}, ...server, options: { headers, key } };
}

async function scripted(answer: Answer, options: Given = {}, proxies?: Proxies) {
  const { origin, requests } = await liveServer(answer);
  const deps = { env: {}, proxies, clock: quickClock };
  const server = new ProviderServer(optionsOf(options, `${origin}/v1`), deps);
  onTestFinished(() => server.close());
  const job = await jobFor({ isPaid: true });
  const file = path.join(job.folder, "reply");
  const post = (overrides = {}, how = {}) =>
    server.post("/images", BODY, { ...job, ...overrides }, { ...ALONE, ...how });
  return { server, requests, file, post };
}

const HELLO = { hello: "world" };
const hello = json(HELLO);

/** What is read of a reply whose body is JSON. */
const seen = ({ status, body, cut }: StoredReply) => ({ status, cut, body: JSON.parse(body.toString()) });

describe("a reply", () => {
  it("is in a file that nobody else may read before it is handed over", async () => {
    const { post, file } = await scripted(hello);
    expect(seen(await post())).toEqual({ status: 200, body: HELLO, cut: null });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, "utf8")).toContain(JSON.stringify(HELLO));
  });

  it("takes the place of an earlier one", async () => {
    const { post, file } = await scripted(hello);
    await writeFile(file, "an earlier reply, much longer than the new one".repeat(100));
    expect(seen(await post())).toMatchObject({ body: HELLO });
  });

  it("that is a success is never lost to a later one", async () => {
    const { post, file } = await scripted(hello);
    await post();
    const first = await readFile(file);
    await writeFile(file, `${first}the first`);
    await post();
    await post();
    expect(await readFile(`${file}-1`, "utf8")).toBe(`${first}the first`);
    expect(await readFile(`${file}-2`)).toEqual(first);
  });

  it("has the headers by which it is read as they came, and no secret in the others", async () => {
    const type = "text/event-stream";
    const answer = response(200, "", { "content-type": type, "x-echo": `${type} ${CANARY}` });
    const { post } = await scripted(answer, { headers: { accept: type, "x-key": CANARY } });
    const { headers } = await post();
    expect(headers["content-type"]).toBe(type);
    expect(headers["x-echo"]).not.toContain(CANARY);
  });

  it("that is paid for is not asked for where the disk has too little room for it", async () => {
    const disk = tinyDisk(1024);
    if (disk === null) return;
    const { post, requests } = await scripted(hello);
    await expect(post({ folder: disk })).rejects.toMatchObject({
      failure: { kind: "disk" },
      message: expect.stringMatching(/^Nothing was sent .*: less than 64 MiB of the disk is free\.$/),
    });
    expect(requests).toEqual([]);
  });

  it("may be compressed, although that is not asked for", async () => {
    const packed = response(200, gzipSync(JSON.stringify(HELLO)), { "content-encoding": "gzip" });
    expect(seen(await (await scripted(packed)).post())).toMatchObject({ body: HELLO });
  });

  it("that is larger than any image is given up", async () => {
    const { post } = await scripted((_request, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${1024 ** 3}\r\n\r\n`);
      const chunk = Buffer.alloc(1024 * 1024, 32);
      const more = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on("drain", more);
      more();
    });
    const { status, cut } = await post();
    expect({ status, cut }).toEqual({ status: 200, cut: "it is larger than 128 MiB" });
  });

  it("without a folder to be kept in is never asked for", async () => {
    const { requests, post } = await scripted(hello);
    await expect(post({ folder: "/nowhere" })).rejects.toMatchObject({ failure: { kind: "disk" } });
    expect(requests).toEqual([]);
  });
});

describe("a reply's file", () => {
  it("of another process says by its Content-Length whether it is whole", async () => {
    const { file } = await scripted(hello);
    const head = (length: number) => `{"status":200,"headers":{"content-length":"${length}"}}\n`;
    await writeFile(file, `${head(5)}hello`);
    expect(await readReplyFile(file)).toMatchObject({ status: 200, cut: null });
    await writeFile(file, `${head(50)}hello`);
    expect(await readReplyFile(file)).toMatchObject({ status: 200, cut: expect.any(String) });
  });

  it.each(["", '{"status":200,"hea', "nonsense\n", '{"headers":{}}\n'])(
    "that ends before its head does is none: %j",
    async (text) => {
      const { file } = await scripted(hello);
      await writeFile(file, text);
      expect(await readReplyFile(file)).toBeNull();
    },
  );
});

/** Writes to a disk until it is full. */
function fill(disk: string): void {
  const file = openSync(path.join(disk, "fill"), "w");
  try {
    for (const bytes = Buffer.alloc(1024 * 1024); ; ) if (writeSync(file, bytes) < bytes.length) break;
    for (const page = Buffer.alloc(4096); ; ) writeSync(file, page);
  } catch (error) {
    expect(errorCode(error)).toBe("ENOSPC");
  } finally {
    closeSync(file);
  }
}

it("a reply whose folder is removed while it is in flight is whole in the first other folder", async () => {
  const [folder, there] = [path.join(await temporaryFolder(), "work"), await temporaryFolder()];
  await mkdir(folder);
  const { post } = await scripted((_request, socket) => {
    rmSync(folder, { recursive: true });
    socket.write(json(HELLO));
  });
  const fallback = path.join(there, "b");
  const reply = await post({ folder, fallbackFiles: [fallback] }, { onUnstored: () => {} });
  expect(seen(reply)).toMatchObject({ cut: null, body: HELLO });
  expect((await readReplyFile(fallback))?.body).toEqual(reply.body);
});

describe("a disk that is full by the time a reply comes", () => {
  /** One that is filled by then; null where there can be none. */
  async function fullDisk(answer = json(HELLO)) {
    const folder = tinyDisk(80 * 1024);
    if (folder === null) return null;
    const { post } = await scripted((_request, socket) => {
      fill(folder);
      socket.write(answer);
    });
    return { post, folder, file: path.join(folder, "reply"), free: () => rm(path.join(folder, "fill")) };
  }
  it.each([
    ["is free is read whole", 200, HELLO],
    ["refuses says why", 401, { error: "wrong key" }],
  ])("loses none: one that %s", async (_what, status, reply) => {
    const disk = await fullDisk(json(reply, status));
    if (disk === null) return;
    const stored = await disk.post({ folder: disk.folder, isPaid: status !== 200 });
    expect(seen(stored)).toEqual({ status, cut: null, body: reply });
    expect((await stat(disk.file)).size).toBeLessThan(stored.body.length);
  });

  it("has a paid one in the first other folder that takes all of it", async () => {
    const disk = await fullDisk();
    if (disk === null) return;
    const { folder, post } = disk;
    const there = await temporaryFolder();
    const taken = path.join(there, "taken");
    await writeFile(taken, "");
    const files = [path.join(there, "nowhere", "a"), taken, path.join(there, "b"), path.join(there, "c")];
    const onUnstored = () => expect.unreachable();
    const reply = await post({ folder, fallbackFiles: files }, { onUnstored });
    expect(seen(reply)).toMatchObject({ cut: null, body: HELLO });
    expect((await stat(path.join(there, "b"))).mode & 0o777).toBe(0o600);
    expect((await readReplyFile(path.join(there, "b")))?.body).toEqual(reply.body);
    expect((await readdir(there)).sort()).toEqual(["b", "taken"]);
    expect(replyFile({ folder, fallbackFiles: files })).toBe(path.join(there, "b"));
  });

  it("keeps a paid one in memory until some disk takes it, and says once that it is lost if the process ends", async () => {
    const disk = await fullDisk();
    if (disk === null) return;
    const warnings: string[] = [];
    const onUnstored = (message: string) => {
      warnings.push(message);
      setTimeout(() => void disk.free(), 300);
    };
    const reply = await disk.post({ folder: disk.folder }, { onUnstored });
    expect(seen(reply)).toMatchObject({ cut: null, body: HELLO });
    expect(await readFile(disk.file, "utf8")).toContain(reply.body.toString());
    expect(warnings).toEqual([expect.stringContaining("lost if imggen exits")]);
  });

  it("keeps the end of a free one in memory until it is removed, and not for as long as a server runs", async () => {
    const disk = await fullDisk();
    if (disk === null) return;
    const { file } = disk;
    await disk.post({ folder: disk.folder, isPaid: false });
    await rm(file);
    await disk.free();
    const next = path.join(await temporaryFolder(), "reply");
    await (await ReplyFile.create(next, { isPaid: false, mask: (text) => text, clock: quickClock })).close();
    await writeFile(file, '{"status":200,"headers":{}}\nother');
    expect((await readReplyFile(file))?.body.toString()).toBe("other");
  });
});

describe("a proxy", () => {
  it("is not used to this machine itself", async () => {
    const proxy = await tunnelProxy("tunnel");
    const { post } = await scripted(hello, {}, { http: proxy.url, https: "", except: "" });
    await post();
    expect(proxy.heads).toEqual([]);
  });

  it.each([
    [{}, true],
    [{ key: CANARY, keyHeaders: { authorization: `Bearer ${CANARY}` } }, false],
    [{ headers: { "x-secret": CANARY } }, false],
  ])("is used to a generator elsewhere, unless it could read a key: %j", async (secrets, isUsed) => {
    const proxy = await tunnelProxy("tunnel");
    const { origin } = await liveServer(hello);
    const url = origin.replace("127.0.0.1", "gpubox.invalid");
    const proxies = { http: proxy.url, https: "", except: "" };
    const { post } = await scripted(hello, { url, ...secrets }, proxies);
    const status = await post().then((reply) => reply.status, errorText);
    expect(status).toEqual(isUsed ? 200 : expect.stringContaining("could not be found"));
    expect(proxy.heads).toHaveLength(isUsed ? 1 : 0);
  });
});

it("tells of every exchange, as for --verbose: the list of models too", async () => {
  const { origin } = await liveServer(hello);
  const seen: string[] = [];
  const onExchange = ({ method, url }: { method: string; url: string }) =>
    seen.push(`${method} ${new URL(url).pathname}`);
  const deps = { env: {}, proxies: undefined, clock: quickClock, onExchange };
  const server = new ProviderServer(optionsOf({}, origin), deps);
  onTestFinished(() => server.close());
  await server.get("/models", ALONE.signal);
  await server.post("/images", BODY, await jobFor(), ALONE);
  expect(seen).toEqual(["GET /models", "POST /images"]);
});
