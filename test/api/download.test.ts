import { randomBytes } from "node:crypto";
import type { LookupFunction } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { guardedLookup } from "../../src/api/address.ts";
import { checkResultUrl, type DownloadOptions, download } from "../../src/api/download.ts";
import type { ByteSink } from "../../src/api/transport.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { liveServer } from "../support/live-server.ts";
import { type Behaviour, response } from "../support/scripted-server.ts";
import { drips } from "../support/scripts.ts";
import { testClient } from "../support/task-world.ts";
import { pause } from "../support/wait.ts";

const PUBLIC_HTTP = new URL("http://8.8.8.8/api");
const HTTPS = new URL("https://api.example/api");

/** A sink that keeps the first of what it gets, and counts all of it. */
function memorySink(): ByteSink & { bytes: number; text: string } {
  const got = { bytes: 0, text: "" };
  return Object.assign(got, {
    write(chunk: Buffer) {
      got.bytes += chunk.length;
      if (got.text.length < 1000) got.text += chunk.toString();
    },
  });
}

async function fetching(url: string, options: Partial<DownloadOptions> = {}) {
  const sink = memorySink();
  const {
    http = testClient(),
    clock = fakeClock(),
    serviceUrl = new URL("http://127.0.0.1/api"),
    ...rest
  } = options;
  const reply = await download(url, sink, { http, clock, serviceUrl, maskKey: String, ...rest });
  return { reply, sink };
}

/** Downloads, keeping every byte. */
async function kept(origin: string) {
  const chunks: Buffer[] = [];
  const sink: ByteSink = { write: (chunk) => void chunks.push(chunk) };
  const options = { http: testClient(), clock: fakeClock(), serviceUrl: new URL(origin), maskKey: String };
  return { reply: await download(`${origin}/1.png`, sink, options), file: Buffer.concat(chunks) };
}

/** Every name leads to this machine, as the resolver says, or as it is asked through a guard. */
const everywhereIsHere: LookupFunction = (_host, _options, callback) =>
  callback(null, [{ address: "127.0.0.1", family: 4 }]);

const redirectTo = (location: string): Buffer => response(302, "moved", { location });

describe("a result URL", () => {
  it.each([
    ["file:///etc/passwd", HTTPS],
    ["data:image/png;base64,AAAA", HTTPS],
    ["javascript:alert(1)", HTTPS],
    ["ftp://cdn.example/1.png", HTTPS],
    ["blob:https://cdn.example/1", HTTPS],
    ["/files/1.png", HTTPS],
    ["not a url", HTTPS],
    ["", HTTPS],
    ["https://", HTTPS],
    ["http://cdn.example/1.png", HTTPS],
    ["https://user@cdn.example/1.png", HTTPS],
    ["https://user:secret@cdn.example/1.png", HTTPS],
    ["https://localhost/1.png", HTTPS],
    ["https://[::1]/1.png", HTTPS],
    ["https://10.0.0.1/1.png", HTTPS],
    ["https://169.254.169.254/latest/meta-data", HTTPS],
    ["http://127.0.0.1/1.png", PUBLIC_HTTP],
  ])("%j is never fetched for a service at %s", async (url, serviceUrl) => {
    const { reply, sink } = await fetching(url, { serviceUrl });
    expect(reply).toMatchObject({ outcome: "forbidden" });
    expect(sink.bytes).toBe(0);
  });

  it.each([
    ["https://cdn.example/1.png?sig=a#b", HTTPS],
    ["https://8.8.8.8/1.png", HTTPS],
    ["https://127.0.0.1/1.png", new URL("https://10.0.0.7/api")],
    ["http://192.168.1.1/1.png", new URL("http://localhost:9/api")],
    ["https://cdn.example/1.png", new URL("http://localhost:9/api")],
    ["http://cdn.example/1.png", PUBLIC_HTTP],
  ])("%j may be fetched for a service at %s", async (url, serviceUrl) => {
    expect(await checkResultUrl(url, serviceUrl)).toEqual(new URL(url));
  });

  it("is not quoted where it is refused: its query may be a signature", async () => {
    const { reply } = await fetching("https://me:secret@cdn.example/1.png?sig=secret", { serviceUrl: HTTPS });
    expect(JSON.stringify(reply)).not.toContain("secret");
  });
});

describe("a host that a public service names", () => {
  it("is not connected to where its name leads to this machine", async () => {
    const server = await liveServer(response(200, "secret"));
    const lookup: LookupFunction = (_host, options, callback) =>
      guardedLookup(PUBLIC_HTTP.hostname)("localhost", options, callback);
    const url = `http://cdn.example:${server.port}/1.png`;
    const { reply } = await fetching(url, { serviceUrl: PUBLIC_HTTP, http: testClient({ lookup }) });
    const why = expect.stringContaining("not a public address");
    expect(reply).toMatchObject({ outcome: "forbidden", why });
    expect(server.requests).toEqual([]);
  });

  it.each(["http://127.0.0.1:PORT/", "http://localhost:PORT/", "http://[::1]:PORT/", "file:///etc/passwd"])(
    "may not redirect to %s",
    async (location) => {
      const server = await liveServer(
        (_request, socket) => void socket.write(redirectTo(location.replace("PORT", String(server.port)))),
      );
      const http = testClient({ lookup: everywhereIsHere });
      const url = `http://cdn.example:${server.port}/1.png`;
      const { reply } = await fetching(url, { serviceUrl: PUBLIC_HTTP, http });
      expect(reply).toMatchObject({ outcome: "forbidden" });
      expect(server.requests).toHaveLength(1);
    },
  );
});

describe("a redirect", () => {
  const hops = (count: number): Behaviour => {
    return ({ target }, socket) => {
      const hop = Number(target.slice(1));
      socket.write(hop < count ? redirectTo(`/${hop + 1}`) : response(200, "the file"));
    };
  };

  it("is followed up to five times", async () => {
    const server = await liveServer(hops(5));
    const whole = { reply: { outcome: "done" }, sink: { text: "the file" } };
    expect(await fetching(`${server.origin}/0`)).toMatchObject(whole);
    expect(server.requests).toHaveLength(6);
  });

  it.each([301, 302, 303, 307, 308])("with HTTP %i to a whole URL is followed", async (status) => {
    const server = await liveServer(({ target }, socket) => {
      const location = `${server.origin}/there`;
      socket.write(target === "/there" ? response(200, "file") : response(status, "", { location }));
    });
    const whole = { reply: { outcome: "done" }, sink: { text: "file" } };
    expect(await fetching(server.origin)).toMatchObject(whole);
  });

  it.each([
    ["with a user name", "http://user:secret@127.0.0.1/"],
    ["to nowhere", "http://"],
  ])("%s is not followed", async (_what, location) => {
    const server = await liveServer(redirectTo(location));
    expect(await fetching(server.origin)).toMatchObject({ reply: { outcome: "forbidden" } });
    expect(server.requests).toHaveLength(1);
  });

  it("that names no place is no file", async () => {
    const server = await liveServer(response(302, "x"));
    expect(await fetching(server.origin)).toMatchObject({ reply: { outcome: "gone" }, sink: { bytes: 0 } });
  });

  it("never carries an Authorization header or a cookie, nor does any other request", async () => {
    const server = await liveServer(({ target }, socket) => {
      const headers = { location: "/b", "set-cookie": "a=b" };
      socket.write(target === "/b" ? response(200, "file") : response(302, "", headers));
    });
    await fetching(`${server.origin}/a`);
    for (const { headers } of server.requests) {
      expect(Object.keys(headers)).not.toContain("authorization");
      expect(Object.keys(headers)).not.toContain("cookie");
    }
    expect(server.requests).toHaveLength(2);
  });
});

describe("a download", () => {
  it.each([408, 425, 429, 500, 502, 503])("that met HTTP %i may be tried again", async (status) => {
    const server = await liveServer(response(status, "busy", { "retry-after": "2" }));
    const { reply, sink } = await fetching(server.origin);
    expect(reply).toEqual({ outcome: "retry", why: `HTTP ${status}`, retryAfterMs: 2000 });
    expect(sink.bytes).toBe(0);
  });

  it.each([
    [400, {}],
    [401, {}],
    [403, { isMissing: true }],
    [404, { isMissing: true }],
    [410, { isMissing: true }],
  ])("that met HTTP %i needs a fresh URL", async (status, more) => {
    const { reply, sink } = await fetching((await liveServer(response(status, "expired"))).origin);
    expect(reply).toEqual({ outcome: "gone", why: `HTTP ${status}`, ...more });
    expect(sink.bytes).toBe(0);
  });

  it("does not wait for the end of an error page", async () => {
    const server = await liveServer(response(404, "x", { "content-length": "1000000" }));
    expect(await fetching(server.origin)).toMatchObject({ reply: { outcome: "gone" } });
  });

  it("in which nothing comes any more may be tried again", async () => {
    const server = await liveServer(response(200, "half", { "content-length": "8" }));
    const { reply, sink } = await fetching(server.origin, { idleTimeoutMs: 1000 });
    expect(reply).toEqual({ outcome: "retry", why: "no answer within 1 s", retryAfterMs: null });
    expect(sink.text).toBe("half");
  });

  it("that is slow continues, however long it takes", async () => {
    const server = await liveServer(drips(response(200, "x".repeat(400)), 40, 50));
    const { reply, sink } = await fetching(server.origin, { idleTimeoutMs: 350 });
    expect(reply).toEqual({ outcome: "done" });
    expect(sink.text).toBe("x".repeat(400));
  });

  it("stops when its caller gives up", async () => {
    const controller = new AbortController();
    const server = await liveServer((_request, socket) => {
      socket.write(response(200, "half", { "content-length": "8" }));
      setTimeout(() => controller.abort(new Error("stop")), 30);
    });
    const { reply } = await fetching(server.origin, { signal: controller.signal });
    expect(reply).toMatchObject({ outcome: "retry", why: "interrupted" });
  });

  it("asks for the bytes as they are, not packed", async () => {
    const server = await liveServer(response(200, "file"));
    await fetching(`${server.origin}/a%20b.png?sig=%2F`);
    expect(server.requests).toMatchObject([
      { method: "GET", target: "/a%20b.png?sig=%2F", headers: { "accept-encoding": "identity" } },
    ]);
  });
});

describe("a file's size", () => {
  const MIB = 1024 * 1024;

  /** Sends a file of so many bytes, as fast as the reader takes it. */
  const sending = (bytes: number, head: string): Behaviour => {
    return (_request, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n`);
      let left = bytes;
      const go = () => {
        for (let room = true; room && left > 0 && !socket.destroyed; ) {
          const length = Math.min(left, MIB);
          left -= length;
          room = socket.write(Buffer.alloc(length, 7));
        }
        if (left === 0) socket.end();
      };
      socket.on("drain", go);
      go();
    };
  };

  it("may be 100 MiB", async () => {
    const server = await liveServer(sending(100 * MIB, `content-length: ${100 * MIB}\r\n`));
    const { reply, sink } = await fetching(server.origin);
    expect(reply).toEqual({ outcome: "done" });
    expect(sink.bytes).toBe(100 * MIB);
  });

  it("may not be a byte more, and what is more than that is not kept", async () => {
    const server = await liveServer(sending(100 * MIB + 1, `content-length: ${100 * MIB + 1}\r\n`));
    const { reply, sink } = await fetching(server.origin);
    expect(reply).toMatchObject({ outcome: "forbidden", why: expect.stringContaining("100 MiB") });
    expect(sink.bytes).toBeLessThanOrEqual(100 * MIB);
  });
});

describe("a download that would never end", () => {
  /** Sends pieces of so many bytes, so long after each other by the clock, to the end or for ever. */
  async function dripping(pieceBytes: number, everyMs: number, pieces = Number.POSITIVE_INFINITY) {
    const clock = fakeClock();
    const server = await liveServer(async (_request, socket) => {
      socket.write("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
      for (let sent = 0; sent < pieces && socket.writable; sent++) {
        socket.write(Buffer.alloc(pieceBytes));
        await pause(1);
        clock.advance(everyMs);
      }
      socket.end();
    });
    return { ...(await fetching(`${server.origin}/1`, { clock })), clock };
  }

  it("because a byte comes now and then has failed after a minute", async () => {
    const { reply, clock } = await dripping(1, 1000);
    const why = "less than 1 KiB/s arrived over 60 s";
    expect(reply).toEqual({ outcome: "retry", why, retryAfterMs: null });
    expect(clock.monotonicMs()).toBeLessThan(70_000);
  });

  it("because it is barely fast enough has failed after a quarter of an hour", async () => {
    const { reply, clock } = await dripping(8 * 1024, 4000);
    expect(reply).toEqual({ outcome: "retry", why: "the download took over 15 minutes", retryAfterMs: null });
    expect(clock.monotonicMs()).toBeLessThan(930_000);
  });

  it("and does, in time, is accepted like any other", async () => {
    const { reply, sink } = await dripping(8 * 1024, 4000, 40);
    expect(reply).toEqual({ outcome: "done" });
    expect(sink.bytes).toBe(40 * 8 * 1024);
  });
});

describe("a connection that ends", () => {
  const BODY = randomBytes(300_000);
  const CLOSE = "connection: close\r\n";
  const LENGTH = `content-length: ${BODY.length}\r\n`;
  const CHUNKED = "transfer-encoding: chunked\r\n";
  const inChunks = (body: Buffer) =>
    Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);

  /** Downloads from a server that sends these bytes and ends the connection. */
  async function ended(version: string, headers: string, body: Buffer, end: "end" | "resetAndDestroy") {
    const { origin } = await liveServer(async (_request, socket) => {
      socket.write(Buffer.concat([Buffer.from(`HTTP/${version} 200 OK\r\n${headers}\r\n`), body]));
      if (end === "resetAndDestroy") await pause(20);
      socket[end]();
    });
    return kept(origin);
  }

  it.each([
    ["1.1", LENGTH, BODY],
    ["1.1", LENGTH + CLOSE, BODY],
    ["1.0", LENGTH, BODY],
    ["1.1", CHUNKED, Buffer.concat([inChunks(BODY), Buffer.from("0\r\n\r\n")])],
    ["1.1", CHUNKED + CLOSE, Buffer.concat([inChunks(BODY), Buffer.from("0\r\n\r\n")])],
    ["1.1", CLOSE, BODY],
    ["1.0", "", BODY],
  ])("after the last byte: the file is whole (HTTP/%s, %j)", async (version, headers, body) => {
    const { reply, file } = await ended(version, headers, body, "end");
    expect(reply).toEqual({ outcome: "done" });
    expect(file.equals(BODY)).toBe(true);
  });

  it.each([
    ["1.1", LENGTH, BODY.subarray(1)],
    ["1.1", LENGTH + CLOSE, BODY.subarray(1)],
    ["1.0", LENGTH, BODY.subarray(1)],
    ["1.1", CHUNKED, inChunks(BODY)],
    ["1.1", CHUNKED + CLOSE, inChunks(BODY)],
  ])("before that: the download is tried again (HTTP/%s, %j)", async (version, headers, body) => {
    for (const end of ["end", "resetAndDestroy"] as const)
      expect((await ended(version, headers, body, end)).reply).toMatchObject({ outcome: "retry" });
  });
});

describe("a file that comes compressed, although that was not asked for", () => {
  const FILE = Buffer.concat([Buffer.from([0x89]), randomBytes(300_000)]);
  const encoded =
    (encoding: string, body: Buffer): Behaviour =>
    (_request, socket) =>
      void socket.end(response(200, body, { "content-encoding": encoding }));

  const keptOf = async (behaviour: Behaviour) => kept((await liveServer(behaviour)).origin);

  it.each([
    ["gzip", gzipSync(FILE)],
    ["X-GZIP", gzipSync(FILE)],
    ["deflate", deflateSync(FILE)],
    ["deflate", deflateRawSync(FILE)],
    ["identity, gzip", gzipSync(FILE)],
    ["deflate, gzip", gzipSync(deflateSync(FILE))],
    ["br", brotliCompressSync(FILE)],
    ["identity", FILE],
    // As one that only claims to be compressed.
    ["gzip", FILE],
    ["unheard-of", FILE],
    ["constructor", FILE],
    ["__proto__", FILE],
  ])("(%s) is kept as it was before", async (encoding, body) => {
    const { reply, file } = await keptOf(encoded(encoding, body));
    expect(reply).toEqual({ outcome: "done" });
    expect(file.equals(FILE)).toBe(true);
  });

  it.each([
    ["cut off", "gzip", gzipSync(FILE).subarray(0, -50)],
    ["damaged at its beginning", "gzip", gzipSync(FILE).fill(0, 10, 200)],
    ["damaged at its end", "gzip", gzipSync(FILE).fill(0, FILE.length - 200)],
    ["not compressed at all", "br", Buffer.alloc(200_000, 0xff)],
    // Zeros would be padding, which gzip allows.
    ["followed by other bytes", "gzip", Buffer.concat([gzipSync(FILE), Buffer.alloc(100_000, "more")])],
    ["not compressed at all", "deflate", FILE],
  ])("and is %s (%s) is tried again", async (_what, encoding, body) => {
    const { reply } = await keptOf(encoded(encoding, body));
    expect(reply).toMatchObject({ outcome: "retry", why: expect.stringContaining("decompressed") });
  });

  it("is no larger than any other file once it is decompressed", async () => {
    const { origin } = await liveServer(encoded("gzip", gzipSync(Buffer.alloc(101 * 1024 * 1024))));
    const { reply, sink } = await fetching(origin);
    expect(reply).toEqual({ outcome: "forbidden", why: "the file is larger than 100 MiB" });
    expect(sink.bytes).toBeLessThanOrEqual(100 * 1024 * 1024);
  });
});
