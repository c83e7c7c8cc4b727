import { describe, expect, it } from "vitest";
import { guardedLookup } from "../../src/api/address.ts";
import { download } from "../../src/api/download.ts";
import { type Proxies, proxiesFromEnvironment, proxyFor } from "../../src/api/proxies.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { deadPort, listenForTest, liveServer } from "../support/live-server.ts";
import { response, success } from "../support/scripted-server.ts";
import { TEST_KEY, testClient, testService } from "../support/task-world.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { untrustedServer } from "../support/untrusted-server.ts";

const PROXIES = { http: "http://plain:1", https: "http://secure:2", except: "" };
const to = (url: string, proxies = PROXIES) => proxyFor(new URL(url), proxies);

describe("the proxy of a connection", () => {
  it("is the one of the URL's scheme, or none", () => {
    expect(to("http://a.example/")).toBe("http://plain:1");
    expect(to("https://a.example/")).toBe("http://secure:2");
    expect(to("https://a.example/", { ...PROXIES, https: "" })).toBeNull();
    expect(proxyFor(new URL("https://a.example/"), undefined)).toBeNull();
  });

  it.each([
    ["a.example", true],
    ["b.example, a.example", true],
    ["b.example a.example", true],
    ["example", true],
    [".example", true],
    ["*.example", true],
    ["A.EXAMPLE", true],
    ["a.example:443", true],
    ["*", true],
    ["a.example:8443", false],
    ["ample", false],
    ["b.a.example", false],
    ["", false],
  ])("with NO_PROXY=%j leaves out https://a.example: %s", (except, isDirect) => {
    expect(to("https://a.example/api", { ...PROXIES, except })).toBe(isDirect ? null : "http://secure:2");
  });
});

const REQUEST = { prompt: "a fox", model: "gamma-image-2" };

function serviceThrough(baseUrl: string, proxies: Partial<Proxies>, requestTimeoutMs = 2000) {
  const http = testClient({ proxies: { http: "", https: "", except: "", ...proxies } });
  return testService(baseUrl, { http, requestTimeoutMs });
}

const acceptingServer = () => liveServer((_request, socket) => void socket.write(success({ taskId: "t" })));

describe("a proxy", () => {
  it("is asked for a tunnel to an http: service, and never shown the key", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    const reply = await serviceThrough(server.baseUrl, { http: proxy.url }).submit({ request: REQUEST });
    expect(reply).toEqual({ outcome: "accepted", taskId: "t" });
    expect(proxy.heads).toEqual([expect.stringMatching(/^CONNECT 127\.0\.0\.1:\d+ HTTP/)]);
    expect(proxy.heads.join("")).not.toMatch(/authorization|sk-/i);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${TEST_KEY}`);
  });

  it("is asked for a tunnel to an https: service, whose certificate still counts", async () => {
    const untrusted = untrustedServer();
    const port = await listenForTest(untrusted.server);
    const proxy = await tunnelProxy("tunnel");
    const service = serviceThrough(`https://127.0.0.1:${port}/api`, { https: proxy.url });
    expect(await service.submit({ request: REQUEST })).toMatchObject({ outcome: "not_sent" });
    expect(proxy.heads).toEqual([expect.stringMatching(/^CONNECT 127\.0\.0\.1:\d+ HTTP/)]);
    expect(untrusted.heard).toEqual([]);
  });

  it("is passed over for the hosts that NO_PROXY names", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    const service = serviceThrough(server.baseUrl, { http: proxy.url, except: "example.com,127.0.0.1" });
    expect(await service.submit({ request: REQUEST })).toMatchObject({ outcome: "accepted" });
    expect(proxy.heads).toEqual([]);
  });

  it("is given the name and password in its URL, decoded", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    const http = proxy.url.replace("http://", "http://me:p%40ss@");
    expect(await serviceThrough(server.baseUrl, { http }).submit({ request: REQUEST })).toMatchObject({
      outcome: "accepted",
    });
    const login = Buffer.from("me:p@ss").toString("base64");
    expect(proxy.heads.join("")).toContain(`proxy-authorization: Basic ${login}\r\n`);
  });

  it("may be at a private address, where a public service's own files may not", async () => {
    const server = await liveServer((_request, socket) => void socket.write(response(200, "the file")));
    const proxy = await tunnelProxy("tunnel");
    const http = testClient({
      proxies: { http: proxy.url.replace("127.0.0.1", "localhost"), https: "", except: "" },
      lookup: guardedLookup("8.8.8.8"),
    });
    const options = { http, clock: fakeClock(), serviceUrl: new URL("http://8.8.8.8/api"), maskKey: String };
    const reply = await download(`http://cdn.example:${server.port}/1.png`, { write() {} }, options);
    expect(reply).toEqual({ outcome: "done" });
    expect(proxy.heads).toHaveLength(1);
  });

  it("does not open a way to private addresses for the hosts that NO_PROXY names", async () => {
    const server = await liveServer((_request, socket) => void socket.write(response(200, "secret")));
    const http = testClient({
      proxies: { http: `http://127.0.0.1:${await deadPort()}`, https: "", except: "cdn.example" },
      lookup: (_host, options, callback) => guardedLookup("8.8.8.8")("localhost", options, callback),
    });
    const options = { http, clock: fakeClock(), serviceUrl: new URL("http://8.8.8.8/api"), maskKey: String };
    const reply = await download(`http://cdn.example:${server.port}/1.png`, { write() {} }, options);
    expect(reply).toMatchObject({ outcome: "forbidden" });
    expect(server.requests).toEqual([]);
  });

  it("for http: is not lent to https:", async () => {
    const proxy = await tunnelProxy("tunnel");
    const service = serviceThrough(`https://127.0.0.1:${await deadPort()}/api`, { http: proxy.url });
    expect(await service.submit({ request: REQUEST })).toMatchObject({ outcome: "not_sent" });
    expect(proxy.heads).toEqual([]);
  });

  it("for https: is not lent to http:", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    await serviceThrough(server.baseUrl, { https: proxy.url }).submit({ request: REQUEST });
    expect(proxy.heads).toEqual([]);
    expect(server.submits()).toHaveLength(1);
  });
});

describe("a request never left where its proxy", () => {
  it("refuses the tunnel", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("refuse");
    const reply = await serviceThrough(server.baseUrl, { http: proxy.url }).submit({ request: REQUEST });
    expect(reply).toMatchObject({ outcome: "not_sent" });
    expect(server.requests).toEqual([]);
  });

  it("hangs up when it is asked for one, and it is not asked without end", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("hang up");
    const reply = await serviceThrough(server.baseUrl, { http: proxy.url }).submit({ request: REQUEST });
    expect(reply).toMatchObject({ outcome: "not_sent" });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(proxy.heads.length).toBeLessThanOrEqual(2);
  });

  it("keeps silent when it is asked for one", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("keep silent");
    const reply = await serviceThrough(server.baseUrl, { http: proxy.url }, 150).submit({ request: REQUEST });
    expect(reply).toMatchObject({ outcome: "not_sent", cause: { timedOut: true } });
    expect(server.requests).toEqual([]);
  });

  it("is not there", async () => {
    const server = await acceptingServer();
    const service = serviceThrough(server.baseUrl, { http: `http://127.0.0.1:${await deadPort()}` });
    expect(await service.submit({ request: REQUEST })).toMatchObject({ outcome: "not_sent" });
    expect(server.requests).toEqual([]);
  });
});

it("a request that a tunnel took and lost may have arrived", async () => {
  const server = await liveServer((_request, socket) => void socket.resetAndDestroy());
  const proxy = await tunnelProxy("tunnel");
  const reply = await serviceThrough(server.baseUrl, { http: proxy.url }).submit({ request: REQUEST });
  expect(reply).toMatchObject({ outcome: "unknown" });
  expect(server.submits()).toHaveLength(1);
});

describe("proxies in the environment", () => {
  it.each([
    [{}, undefined],
    [{ NO_PROXY: "*" }, undefined],
    [{ HTTP_PROXY: "", HTTPS_PROXY: "" }, undefined],
    [{ HTTP_PROXY: "http://p:1" }, { http: "http://p:1", https: "", except: "" }],
    [
      { HTTPS_PROXY: "http://p:1", NO_PROXY: "a,b" },
      { http: "", https: "http://p:1", except: "a,b" },
    ],
    [
      { HTTPS_PROXY: "http://p:1", https_proxy: "http://q:1" },
      { http: "", https: "http://q:1", except: "" },
    ],
    [
      { HTTP_PROXY: "http://p:1", no_proxy: "", NO_PROXY: "a" },
      { http: "http://p:1", https: "", except: "" },
    ],
  ])("%j are %j", (env, proxies) => {
    expect(proxiesFromEnvironment(env)).toEqual(proxies);
  });
});
