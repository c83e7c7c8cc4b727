import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Proxies } from "../../src/api/proxies.ts";
import { errorText } from "../../src/lib/error-text.ts";
import { GeneratorServer, type ServerOptions } from "../../src/providers/http.ts";
import { readReplyFile } from "../../src/providers/reply-file.ts";
import { CANARY } from "../support/canary.ts";
import { liveServer } from "../support/live-server.ts";
import { quickClock } from "../support/quick-clock.ts";
import { type Behaviour, json, response } from "../support/scripted-server.ts";
import { tinyDisk } from "../support/tiny-disk.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { ALONE, jobFor } from "./job.ts";

const BODY = { type: "application/json", bytes: "{}" };

async function scripted(behave: Behaviour, given: Partial<ServerOptions> = {}, proxies?: Proxies) {
  const { origin, requests } = await liveServer(behave);
  const options = { headers: {}, isPaid: true, key: null, authorization: null, ...given };
  const server = new GeneratorServer(
    { url: `${origin}/v1`, ...options },
    { env: {}, proxies, clock: quickClock },
  );
  onTestFinished(() => server.close());
  const job = await jobFor();
  const file = path.join(job.folder, "reply");
  const { signal } = ALONE;
  const post = (given = {}) => server.post("/images", BODY, { ...job, ...given }, signal);
  return { server, requests, file, post };
}

const HELLO = { hello: "world" };
const hello: Behaviour = (_request, socket) => void socket.write(json(HELLO));

describe("a reply", () => {
  it("is in a file that nobody else may read before it is handed over", async () => {
    const { post, file } = await scripted(hello);
    const { status, body, cut } = await post();
    expect({ status, body: JSON.parse(body.toString()), cut }).toEqual({
      status: 200,
      body: HELLO,
      cut: null,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, "utf8")).toContain(JSON.stringify(HELLO));
  });

  it("takes the place of an earlier one", async () => {
    const { post, file } = await scripted(hello);
    await writeFile(file, "an earlier reply, much longer than the new one".repeat(100));
    expect((await post()).body.toString()).toBe(JSON.stringify(HELLO));
  });

  it("that is paid for is not asked for where the disk has too little room for it", async () => {
    const disk = tinyDisk(1024);
    if (disk === null) return;
    const { post, requests } = await scripted(hello);
    await expect(post({ folder: disk })).rejects.toMatchObject({
      failure: { kind: "unreachable" },
      message: expect.stringMatching(/^Nothing was sent .*: less than 64 MiB of the disk is free\.$/),
    });
    expect(requests).toEqual([]);
  });

  it("may be compressed, although that is not asked for", async () => {
    const packed = response(200, gzipSync(JSON.stringify(HELLO)), { "content-encoding": "gzip" });
    const { post } = await scripted((_request, socket) => void socket.write(packed));
    expect((await post()).body.toString()).toBe(JSON.stringify(HELLO));
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
    await expect(post({ folder: "/nowhere" })).rejects.toMatchObject({ failure: { kind: "unreachable" } });
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

describe("a proxy", () => {
  it("is not used to this machine itself", async () => {
    const proxy = await tunnelProxy("tunnel");
    const { post } = await scripted(hello, {}, { http: proxy.url, https: "", except: "" });
    await post();
    expect(proxy.heads).toEqual([]);
  });

  it.each([
    [{}, true],
    [{ key: CANARY, authorization: `Bearer ${CANARY}` }, false],
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

it("a short value of a header hides no words", async () => {
  const { server } = await scripted(hello, { headers: { "x-version": "1", "x-secret": "long-enough" } });
  expect(server.mask("version 1 of long-enough")).toMatch(/^version 1 of …/);
});
