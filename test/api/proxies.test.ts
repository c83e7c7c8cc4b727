import type { LookupFunction } from "node:net";
import { describe, expect, it } from "vitest";
import { guardedLookup } from "../../src/api/address.ts";
import { connectionErrorText } from "../../src/api/connection-errors.ts";
import { download } from "../../src/api/download.ts";
import { fetchReply } from "../../src/api/http-client.ts";
import { type Proxies, proxiesFromEnvironment, proxyFor } from "../../src/api/proxies.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { deadPort, listenForTest, liveServer } from "../support/live-server.ts";
import { response, success } from "../support/scripted-server.ts";
import { testClient, testService } from "../support/task-world.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { untrustedServer } from "../support/untrusted-server.ts";
import { pause } from "../support/wait.ts";
import { words } from "../support/words.ts";

const PROXIES = { http: "http://plain:1", https: "http://secure:2", except: "" };
const to = (url: string, proxies = PROXIES) => proxyFor(new URL(url), proxies)?.url ?? null;

describe("the proxy of a connection", () => {
  it("is the one of the URL's scheme, or none", () => {
    expect(to("http://a.example/")).toBe("http://plain:1");
    expect(to("https://a.example/")).toBe("http://secure:2");
    expect(to("https://a.example/", { ...PROXIES, https: "" })).toBeNull();
    expect(proxyFor(new URL("https://a.example/"), undefined)).toBeNull();
  });

  it.each(words(`127.0.0.1 127.9.8.7:81 [::1] [::ffff:127.0.0.1] localhost LOCALHOST. a.localhost`))(
    "is none to this machine: %s",
    (host) => {
      expect([to(`http://${host}/`), to(`https://${host}/`)]).toEqual([null, null]);
    },
  );
});

const NO_PROXIES: Proxies = { http: "", https: "", except: "" };

/** A POST through proxies to a server of this machine, under a name that says nothing of that. */
async function post(
  { port }: { port: number },
  proxies: Partial<Proxies>,
  { headers = {}, timeoutMs = 2000 }: { headers?: Record<string, string>; timeoutMs?: number } = {},
) {
  const http = testClient({ proxies: { ...NO_PROXIES, ...proxies }, lookup: toThisMachine });
  const url = new URL(`http://service.example:${port}/api`);
  const { status } = await fetchReply(http, { method: "POST", url, body: "{}", headers, timeoutMs });
  return status;
}

const toThisMachine: LookupFunction = (_host, options, callback) =>
  options.all ? callback(null, [{ address: "127.0.0.1", family: 4 }]) : callback(null, "127.0.0.1", 4);

const acceptingServer = () => liveServer(success({ taskId: "t" }));

const NOT_SENT = expect.objectContaining({ name: "TransportError", wasSent: false });

describe("a proxy", () => {
  it("is asked for a tunnel to an http: server", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    expect(await post(server, { http: proxy.url })).toBe(200);
    expect(proxy.heads).toEqual([expect.stringMatching(/^CONNECT service\.example:\d+ HTTP/)]);
    expect(server.requests).toHaveLength(1);
  });

  it.each(["authorization", "x-api-key", "Cookie"])(
    "is passed over where a %s goes to an http: server, which it could read",
    async (name) => {
      const server = await acceptingServer();
      const proxy = await tunnelProxy("tunnel");
      expect(await post(server, { http: proxy.url }, { headers: { [name]: "secret" } })).toBe(200);
      expect(proxy.heads).toEqual([]);
      expect(server.requests[0]?.headers[name.toLowerCase()]).toBe("secret");
    },
  );

  it("is passed over to this machine, which a proxy elsewhere would take for itself", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    const http = testClient({ proxies: { ...NO_PROXIES, http: proxy.url } });
    const reply = await testService(server.baseUrl, { http }).submit({
      request: { prompt: "a fox", model: "z-image" },
    });
    expect(reply).toEqual({ outcome: "accepted", taskId: "t" });
    expect(proxy.heads).toEqual([]);
  });

  it("is asked for a tunnel to an https: server, whose certificate still counts", async () => {
    const untrusted = untrustedServer();
    const port = await listenForTest(untrusted.server);
    const proxy = await tunnelProxy("tunnel");
    const http = testClient({ proxies: { ...NO_PROXIES, https: proxy.url } });
    const service = testService(`https://service.example:${port}/api`, { http });
    expect(await service.submit({ request: { prompt: "a fox", model: "z-image" } })).toMatchObject({
      outcome: "not_sent",
    });
    expect(proxy.heads).toEqual([expect.stringMatching(/^CONNECT service\.example:\d+ HTTP/)]);
    expect(proxy.heads.join("")).not.toMatch(/authorization|sk-/i);
    expect(untrusted.heard).toEqual([]);
  });

  it("is passed over for the hosts that NO_PROXY names", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    expect(await post(server, { http: proxy.url, except: "example.com, service.example" })).toBe(200);
    expect(proxy.heads).toEqual([]);
  });

  it.each([
    ["me:p%40ss@", "me:p@ss"],
    ["me:100%@", "me:100%"],
    ["me:%zz%e4@", "me:%zz%e4"],
    ["me:p@s#s/?@", "me:p@s#s/?"],
    ["token@", "token:"],
    [":token@", ":token"],
  ])("is given the name and password in its URL: %s", async (login, sent) => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    const proxies = proxiesFromEnvironment({ HTTP_PROXY: proxy.url.replace("http://", `http://${login}`) });
    expect(await post(server, proxies ?? {})).toBe(200);
    const encoded = Buffer.from(sent).toString("base64");
    expect(proxy.heads.join("")).toContain(`proxy-authorization: Basic ${encoded}\r\n`);
  });

  it("may be at a private address, where a public service's own files may not", async () => {
    const server = await liveServer(response(200, "the file"));
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
    const server = await liveServer(response(200, "secret"));
    const http = testClient({
      proxies: { http: `http://127.0.0.1:${await deadPort()}`, https: "", except: "cdn.example" },
      lookup: (_host, options, callback) => guardedLookup("8.8.8.8")("localhost", options, callback),
    });
    const options = { http, clock: fakeClock(), serviceUrl: new URL("http://8.8.8.8/api"), maskKey: String };
    const reply = await download(`http://cdn.example:${server.port}/1.png`, { write() {} }, options);
    expect(reply).toMatchObject({ outcome: "forbidden" });
    expect(server.requests).toEqual([]);
  });

  it("for https: is not lent to http:", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("tunnel");
    expect(await post(server, { https: proxy.url })).toBe(200);
    expect(proxy.heads).toEqual([]);
  });
});

describe("a request never left where its proxy", () => {
  it.each([
    ["refuses the tunnel", "refuse"],
    ["hangs up when it is asked for one, and is not asked without end", "hang up"],
  ] as const)("%s", async (_what, behaviour) => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy(behaviour);
    await expect(post(server, { http: proxy.url })).rejects.toEqual(NOT_SENT);
    await pause(100);
    expect([server.requests, proxy.heads.length <= 2]).toEqual([[], true]);
  });

  it("keeps silent when it is asked for one", async () => {
    const server = await acceptingServer();
    const proxy = await tunnelProxy("keep silent");
    const reply = post(server, { http: proxy.url }, { timeoutMs: 150 });
    await expect(reply).rejects.toMatchObject({ wasSent: false, timedOut: true });
    expect(server.requests).toEqual([]);
  });
});

it("a request that a tunnel took and lost may have arrived", async () => {
  const server = await liveServer((_request, socket) => void socket.resetAndDestroy());
  const proxy = await tunnelProxy("tunnel");
  await expect(post(server, { http: proxy.url })).rejects.toMatchObject({ wasSent: true });
  expect(server.requests).toHaveLength(1);
});

describe("proxies in the environment", () => {
  it.each([
    [{}, undefined],
    [{ NO_PROXY: "*" }, undefined],
    [{ HTTP_PROXY: "", HTTPS_PROXY: " " }, undefined],
    [{ HTTP_PROXY: "http://p:1" }, { http: "http://p:1", https: "", except: "" }],
    [{ HTTP_PROXY: "p:1" }, { http: "http://p:1", https: "", except: "" }],
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
    const found = proxiesFromEnvironment(env);
    expect(found && { http: found.http, https: found.https, except: found.except }).toEqual(proxies);
  });

  it.each(["HTTP_PROXY", "http_proxy", "https_proxy"])("a wrong %s is named as it is written", (name) => {
    expect(() => proxiesFromEnvironment({ [name]: "socks5://p:1" })).toThrow(`${name} is not the address`);
  });

  it("the one that cannot be reached is named", async () => {
    const proxies = proxiesFromEnvironment({ http_proxy: `127.0.0.1:${await deadPort()}` });
    const error = await post({ port: 1 }, proxies ?? {}).catch((error) => error);
    expect(connectionErrorText(error)).toMatch(
      /^the proxy at 127\.0\.0\.1:\d+ \(http_proxy\) could not be reached/,
    );
  });
});
