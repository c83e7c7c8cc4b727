import type { LookupFunction, Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type HttpRequest, TransportError } from "../../src/api/transport.ts";
import { deadPort, listenForTest, liveServer, liveSockets } from "../support/live-server.ts";
import { json, response } from "../support/scripted-server.ts";
import { drips, inTurn, reset } from "../support/scripts.ts";
import { testClient } from "../support/task-world.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { untrustedServer } from "../support/untrusted-server.ts";
import { pause } from "../support/wait.ts";

interface Answer {
  status: number;
  body: string;
}

/** One exchange: its answer, or how it broke. */
async function exchange(request: HttpRequest, client = testClient()): Promise<Answer | TransportError> {
  const answer = { status: 0, body: "" };
  try {
    await client.send(request, {
      onHead: (status) => Object.assign(answer, { status }),
      onData: (chunk) => Object.assign(answer, { body: answer.body + chunk.toString() }),
    });
    return answer;
  } catch (error) {
    if (error instanceof TransportError) return error;
    throw error;
  }
}

const CUT = response(200, "", { "content-length": "5" });

const get = (url: string): HttpRequest => ({ method: "GET", url: new URL(url), timeoutMs: 3000 });
const post = (url: string): HttpRequest => ({ ...get(url), method: "POST", body: "{}" });

describe.each([
  ["that is shared", get],
  ["of its own", post],
])("over a connection %s,", (_whose, ask) => {
  describe("a request that never left", () => {
    it("was refused a connection", async () => {
      const answer = await exchange(ask(`http://127.0.0.1:${await deadPort()}/`));
      expect(answer).toMatchObject({ wasSent: false, cause: { code: "ECONNREFUSED" } });
    });

    it.each(["ENOTFOUND", "EAI_AGAIN"])("had a host whose name could not be looked up (%s)", async (code) => {
      const lookup: LookupFunction = (_host, _options, callback) =>
        callback(Object.assign(new Error(code), { code }), "");
      const answer = await exchange(ask("http://api.example/"), testClient({ lookup }));
      expect(answer).toMatchObject({ wasSent: false, cause: { code } });
    });

    it("waited for a connection that was never made", async () => {
      const lookup: LookupFunction = () => {};
      const answer = await exchange({ ...ask("http://api.example/"), timeoutMs: 50 }, testClient({ lookup }));
      expect(answer).toMatchObject({ wasSent: false, timedOut: true });
    });

    it("waited for a TLS handshake that was never answered", async () => {
      const port = await liveSockets(() => {});
      const answer = await exchange({ ...ask(`https://127.0.0.1:${port}/`), timeoutMs: 150 });
      expect(answer).toMatchObject({ wasSent: false, timedOut: true });
    });

    it("met an untrusted certificate, and sent nothing", async () => {
      const { server, heard } = untrustedServer();
      const port = await listenForTest(server);
      const answer = await exchange(ask(`https://127.0.0.1:${port}/`));
      expect(answer).toMatchObject({ wasSent: false, cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } });
      expect(heard).toEqual([]);
    });

    it.each<[string, (socket: Socket) => void]>([
      ["speaks no TLS", (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
      ["hangs up during the TLS handshake", (socket) => void socket.once("data", () => socket.destroy())],
    ])("met a server that %s", async (_what, behave) => {
      const port = await liveSockets(behave);
      expect(await exchange(ask(`https://127.0.0.1:${port}/`))).toMatchObject({ wasSent: false });
    });

    it("was withdrawn before it had a connection, and does not leave when there is one", async () => {
      const server = await liveServer(json({}));
      let found = () => {};
      const lookup: LookupFunction = (_host, _options, callback) => {
        found = () => callback(null, [{ address: "127.0.0.1", family: 4 }]);
      };
      const url = `http://api.example:${server.port}/`;
      const answer = await exchange({ ...ask(url), timeoutMs: 30 }, testClient({ lookup }));
      found();
      await pause(50);
      expect(answer).toMatchObject({ wasSent: false, timedOut: true });
      expect(server.requests).toEqual([]);
    });

    it("was given up before it began", async () => {
      const server = await liveServer(json({}));
      const request = { ...ask(server.origin), signal: AbortSignal.abort(new Error("stop")) };
      expect(await exchange(request)).toMatchObject({ wasSent: false });
      await pause(50);
      expect(server.requests).toEqual([]);
    });
  });

  describe("a request that may have arrived", () => {
    it("was cut off after it was read", async () => {
      const server = await liveServer(reset);
      expect(await exchange(ask(server.origin))).toMatchObject({ wasSent: true, timedOut: false });
      expect(server.requests).toHaveLength(1);
    });

    it("was cut off before anything of it was read", async () => {
      const port = await liveSockets((socket) => void socket.destroy());
      expect(await exchange(ask(`http://127.0.0.1:${port}/`))).toMatchObject({ wasSent: true });
    });

    it("got no reply", async () => {
      const server = await liveServer(() => {});
      const timedOut = { wasSent: true, timedOut: true };
      expect(await exchange({ ...ask(server.origin), timeoutMs: 500 })).toMatchObject(timedOut);
    });

    it("was given up in flight", async () => {
      const stop = new AbortController();
      const server = await liveServer(() => stop.abort(new Error("stop")));
      const stopped = { wasSent: true, timedOut: false, cause: { message: "stop" } };
      expect(await exchange({ ...ask(server.origin), signal: stop.signal })).toMatchObject(stopped);
    });

    it.each([
      ["in part: the head is cut short", "HTTP/1.1 200 OK\r\nconte"],
      ["in part: the body is cut short", response(200, "{}", { "content-length": "9" })],
      [
        "in part: the last chunk never came",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
      ],
      ["with what is no HTTP: another protocol", "SSH-2.0-OpenSSH\r\n"],
      ["with what is no HTTP: no status", "HTTP/1.1 abc\r\n\r\n"],
      ["with what is no HTTP: zeros", "\0\0\0\0"],
      ["with what is no HTTP: no header", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"],
    ])("was answered %s", async (_what, bytes) => {
      const server = await liveServer((_request, socket) => void socket.end(bytes));
      expect(await exchange(ask(server.origin))).toMatchObject({ wasSent: true });
    });

    it("was answered so slowly that its time ran out, however steady the drip", async () => {
      const server = await liveServer(drips(response(200, "x".repeat(1000)), 1, 20));
      const timedOut = { wasSent: true, timedOut: true };
      for (const idle of [{}, { idleTimeoutMs: 60_000 }])
        expect(await exchange({ ...ask(server.origin), timeoutMs: 500, ...idle })).toMatchObject(timedOut);
    });

    it("was answered in part, and then by nothing, though its time has not run out", async () => {
      const server = await liveServer(response(200, "half", { "content-length": "8" }));
      const answer = await exchange({ ...ask(server.origin), timeoutMs: 60_000, idleTimeoutMs: 200 });
      expect(answer).toMatchObject({ message: "no answer within 200 ms", wasSent: true, timedOut: true });
    });
  });

  describe("a reply", () => {
    it("is handed over after any interim ones", async () => {
      const early = "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
      const server = await liveServer(`${early}${json({ ok: true })}`);
      expect(await exchange(ask(server.origin))).toEqual({ status: 200, body: '{"ok":true}' });
    });

    it("with a redirect is handed over, not followed", async () => {
      const server = await liveServer(response(302, "", { location: "/elsewhere" }));
      expect(await exchange(ask(server.origin))).toMatchObject({ status: 302 });
      expect(server.requests).toHaveLength(1);
    });

    it.each([
      ["is reported with its method, status and time", json({}, 503), 503],
      ["that was cut off is reported with its status and error", CUT, expect.stringMatching(/^200, ./)],
    ])("%s", async (_what, answer, result) => {
      const told: object[] = [];
      const server = await liveServer((_request, socket) => void socket.end(answer));
      const { method, url } = ask(`${server.origin}/a?b=c`);
      await exchange(ask(url.href), testClient({ onExchange: (each) => void told.push(each) }));
      expect(told).toEqual([{ method, url: url.href, result, elapsedMs: expect.any(Number) }]);
    });
  });

  it("sends the headers and the body that it was given, and names the program", async () => {
    const server = await liveServer(json({}));
    const { method, url } = ask(`${server.origin}/api?x=%20y`);
    const body = method === "POST" ? "Grüße" : "";
    await exchange({ method, url, headers: { authorization: "Bearer k" }, body });
    expect(server.requests[0]).toMatchObject({
      method,
      target: "/api?x=%20y",
      body,
      headers: { authorization: "Bearer k", "user-agent": expect.stringMatching(/^imggen\/\d/) },
    });
  });

  it("a request is withdrawn when the client closes", async () => {
    const client = testClient();
    const server = await liveServer(() => client.close());
    expect(await exchange(ask(server.origin), client)).toMatchObject({ wasSent: true, timedOut: false });
  });

  it("a request that waits for its connection when the client closes is not sent", async () => {
    const server = await liveServer(json({}));
    const lookup: LookupFunction = (_host, _options, callback) => {
      setTimeout(callback, 50, null, [{ address: "127.0.0.1", family: 4 }]);
    };
    const client = testClient({ lookup });
    const asked = exchange({ ...ask(`http://api.example:${server.port}/`), timeoutMs: 300 }, client);
    await client.close();
    expect(await asked).toMatchObject({ wasSent: false });
    expect(server.requests).toEqual([]);
  });

  it("many requests at once are no leak of listeners", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => void warnings.push(warning);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const server = await liveServer(json({}));
    const client = testClient();
    const answers = await Promise.all(Array.from({ length: 30 }, () => exchange(ask(server.origin), client)));
    expect(answers).toEqual(Array(30).fill({ status: 200, body: "{}" }));
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  });

  it("a request that is given up leaves no connection behind that is still to be made", async () => {
    const sockets: Socket[] = [];
    const port = await liveSockets((socket) => void sockets.push(socket.resume()));
    const request = { ...ask(`https://127.0.0.1:${port}/`), timeoutMs: 100 };
    const client = testClient();
    expect(await exchange(request, client)).toMatchObject({ wasSent: false, timedOut: true });
    await client.close();
    await vi.waitFor(() => expect(sockets.map(({ closed }) => closed)).toEqual([true]), 2000);
  });

  it("a reply at which its receiver throws breaks the exchange, and is not handed over any further", async () => {
    const server = await liveServer(json({ a: "x".repeat(300_000) }));
    let chunks = 0;
    const sending = testClient().send(ask(server.origin), {
      onHead() {},
      onData() {
        chunks += 1;
        throw new Error("too much");
      },
    });
    const error = { name: "TransportError", wasSent: true, message: "too much" };
    await expect(sending).rejects.toMatchObject(error);
    await pause(20);
    expect(chunks).toBe(1);
  });

  it("a request with a header that HTTP does not allow is not sent", async () => {
    const server = await liveServer(json({}));
    const answer = await exchange({ ...ask(server.origin), headers: { authorization: "a\nb" } });
    expect(answer).toBeInstanceOf(TransportError);
    expect(server.requests).toEqual([]);
  });
});

describe("a connection that is kept alive", () => {
  it("is used for the next request", async () => {
    const connections = new Set<unknown>();
    const server = await liveServer((_request, socket) => {
      connections.add(socket);
      socket.write(json({}));
    });
    const client = testClient();
    for (let round = 0; round < 3; round++) {
      await exchange(get(server.origin), client);
      await new Promise(setImmediate);
    }
    expect(connections.size).toBe(1);
  });

  it("and has gone stale loses the request that was written to it, which is not sent again", async () => {
    const server = await liveServer(inTurn(json({}), reset));
    const client = testClient();
    expect(await exchange(get(server.origin), client)).toMatchObject({ status: 200 });
    expect(await exchange(get(server.origin), client)).toMatchObject({ wasSent: true });
    expect(server.requests).toHaveLength(2);
  });
});

describe("a connection of a request's own", () => {
  /** A server that answers everything, and which connection each request came over. */
  async function numberedServer() {
    const sockets: Socket[] = [];
    const server = await liveServer((_request, socket) => {
      if (!sockets.includes(socket)) sockets.push(socket);
      over.push(sockets.indexOf(socket));
      socket.write(json({}));
    });
    const over: number[] = [];
    return { server, over };
  }

  it("has carried no other request, and carries none after it", async () => {
    const { server, over } = await numberedServer();
    const client = testClient();
    for (const ask of [get, post, post, get, post, get]) {
      expect(await exchange(ask(server.origin), client)).toMatchObject({ status: 200 });
      await pause(5);
    }
    expect(over).toEqual([0, 1, 2, 0, 3, 0]);
    const said = server.requests.map(({ headers }) => headers.connection);
    expect(said).toEqual(["keep-alive", "close", "close", "keep-alive", "close", "keep-alive"]);
  });

  it("is closed at once, even where the service would keep it", async () => {
    let onClose = () => {};
    const closed = new Promise<boolean>((resolve) => (onClose = () => resolve(true)));
    const server = await liveServer((_request, socket) => {
      socket.once("close", onClose);
      socket.write(json({}));
    });
    await exchange(post(server.origin), testClient());
    expect(await Promise.race([closed, pause(1_000)])).toBe(true);
  });

  it.each([
    ["a space", " "],
    ["what is no HTTP", "junk"],
    ["a last chunk", "0\r\n\r\n"],
    ["a second reply", json({})],
  ])("brings a whole reply, whatever follows it in the same packet: %s", async (_what, surplus) => {
    const server = await liveServer(Buffer.concat([Buffer.from(json({ ok: true })), Buffer.from(surplus)]));
    expect(await exchange(post(server.origin))).toEqual({ status: 200, body: '{"ok":true}' });
  });

  it("brings a whole reply after a head of 100 kB", async () => {
    const server = await liveServer(response(200, "{}", { "x-long": "x".repeat(100_000) }));
    expect(await exchange(post(server.origin))).toEqual({ status: 200, body: "{}" });
  });

  it("is a tunnel of its own, through a proxy", async () => {
    const { server, over } = await numberedServer();
    const proxy = await tunnelProxy("tunnel");
    const client = testClient({ proxies: { http: proxy.url, https: "", except: "" } });
    for (const ask of [get, post, post, get]) {
      const answer = await exchange(ask(`http://service.example:${server.port}`), client);
      expect(answer).toMatchObject({ status: 200 });
      await pause(5);
    }
    expect(over).toEqual([0, 1, 2, 0]);
    expect(proxy.heads).toHaveLength(3);
  });
});
