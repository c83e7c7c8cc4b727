import { describe, expect, it, onTestFinished } from "vitest";
import { guardedLookup } from "../../src/api/address.ts";
import { HttpClient } from "../../src/api/http-client.ts";
import { imageHead } from "../../src/api/image-head.ts";
import { deadPort, liveServer } from "../support/live-server.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";

const PNG = { "content-type": "image/png", "content-length": "1234" };

function head(status: number, headers: Record<string, string> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join("")}\r\n`;
}

const answering = (status: number, headers?: Record<string, string>) => liveServer(head(status, headers));

async function ask(
  url: string,
  service = "http://127.0.0.1/api",
  options: { signal?: AbortSignal; proxy?: string } = {},
) {
  const serviceUrl = new URL(service);
  const proxies = options.proxy === undefined ? undefined : { http: options.proxy, https: "", except: "" };
  const http = new HttpClient({ lookup: guardedLookup(serviceUrl.hostname), proxies });
  onTestFinished(() => http.close());
  return imageHead(url, { http, serviceUrl, signal: options.signal ?? new AbortController().signal });
}

describe("HEAD of a reference image", () => {
  it("asks for nothing but the head, without a key", async () => {
    const server = await answering(200, PNG);
    expect(await ask(`${server.origin}/fox.png?sig=1`)).toEqual({ kind: "good" });
    expect(server.requests).toMatchObject([{ method: "HEAD", target: "/fox.png?sig=1" }]);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    ["a type with parameters", { ...PNG, "content-type": "image/JPEG; q=1" }],
    ["exactly 4 MiB", { ...PNG, "content-length": String(4 * 1024 * 1024) }],
  ])("is content with %s", async (_what, headers) => {
    const server = await answering(200, headers);
    expect(await ask(server.origin)).toEqual({ kind: "good" });
  });

  it.each([
    [404, {}, "", /HTTP 404/],
    [500, {}, "", /HTTP 500/],
    [403, {}, "", /HTTP 403/],
    [200, { ...PNG, "content-type": "text/html" }, "", /its type is text\/html/],
    [200, { ...PNG, "content-type": "image/gif" }, "", /its type is image\/gif/],
    [200, { ...PNG, "content-length": "4194305" }, "", /4194305 bytes, more than 4 MB/],
    [302, { location: "ftp://images.test/fox.png" }, "", /not lead to an http\(s\) URL/],
  ])("refuses HTTP %i with %j", async (status, headers, query, why) => {
    const server = await answering(status, headers);
    expect(await ask(server.origin + query)).toEqual({ kind: "bad", why: expect.stringMatching(why) });
  });

  it.each([
    [405, {}, "", /refuses HEAD \(HTTP 405\)/],
    [501, {}, "", /refuses HEAD \(HTTP 501\)/],
    [403, {}, "/?X-Amz-Signature=ab", /signed for GET/],
    [200, { "content-length": "5" }, "", /does not send its type/],
    [200, { ...PNG, "content-type": "binary/octet-stream" }, "", /does not send its type/],
    [200, { "content-type": "image/png" }, "", /does not send its size/],
  ])("does not know of HTTP %i with %j, and refuses nothing", async (status, headers, query, why) => {
    const server = await answering(status, headers);
    expect(await ask(server.origin + query)).toEqual({ kind: "unknown", why: expect.stringMatching(why) });
  });

  it("follows redirects, but not without end", async () => {
    const server = await liveServer(({ target }, socket) => {
      if (target === "/fox.png") return void socket.write(head(302, { location: "/moved.png" }));
      if (target === "/circle") return void socket.write(head(302, { location: "/circle" }));
      socket.write(head(200, PNG));
    });
    expect(await ask(`${server.origin}/fox.png`)).toEqual({ kind: "good" });
    expect(await ask(`${server.origin}/circle`)).toEqual({ kind: "bad", why: "more than 5 redirects" });
    expect(server.requests).toHaveLength(2 + 6);
  });

  it("sends no request to a private address for a public service, nor to a name that resolves to one", async () => {
    const server = await answering(200, PNG);
    const service = "https://8.8.8.8/api";
    expect(await ask(server.origin, service)).toEqual({
      kind: "bad",
      why: "127.0.0.1 is not a public address",
    });
    const byName = await ask(`http://localhost:${server.port}`, service);
    expect(byName).toEqual({ kind: "bad", why: "localhost is not a public address" });
    expect(server.requests).toEqual([]);
  });

  it("sends no request for data: URLs and URLs with a password", async () => {
    expect(await ask("data:image/png;base64,AAAA")).toMatchObject({ kind: "unknown" });
    expect(await ask("https://me:secret@images.test/fox.png")).toMatchObject({ kind: "unknown" });
  });

  it("says that a server cannot be reached", async () => {
    const bad = { kind: "bad", why: "the connection was refused" };
    expect(await ask(`http://127.0.0.1:${await deadPort()}/fox.png`)).toEqual(bad);
  });

  it("goes through the proxy", async () => {
    const [server, proxy] = [await answering(200, PNG), await tunnelProxy("tunnel")];
    expect(await ask(`http://images.test:${server.port}/fox.png`, undefined, { proxy: proxy.url })).toEqual({
      kind: "good",
    });
    expect(proxy.heads[0]).toContain("CONNECT images.test:");
  });

  it("ends when it is aborted", async () => {
    const stop = new AbortController();
    const server = await liveServer(() => stop.abort());
    await expect(ask(server.origin, undefined, { signal: stop.signal })).rejects.toThrow("interrupted");
  });
});
