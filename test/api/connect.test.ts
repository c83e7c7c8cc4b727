import type { LookupFunction } from "node:net";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { HttpClient } from "../../src/api/client.ts";
import { connector, EarlyConnection } from "../../src/api/connect.ts";
import { TransportError } from "../../src/api/transport.ts";
import { answeringServer } from "../support/answering-server.ts";
import { deadPort, liveSockets } from "../support/live-server.ts";

const LIVE = new AbortController().signal;

afterEach(() => void vi.useRealTimers());

it("a connection that is not made within 10 s has timed out", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const connecting = connector({ lookup: () => {} })(new URL("http://api.example/"), LIVE).catch(
    (error) => error,
  );
  vi.advanceTimersByTime(9999);
  expect(await Promise.race([connecting, "still trying"])).toBe("still trying");
  vi.advanceTimersByTime(1);
  expect(await connecting).toMatchObject({ code: "ETIMEDOUT" });
});

it("a connection that was made in time stays open after that", async () => {
  const port = await liveSockets(() => {});
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const socket = await connector()(new URL(`http://127.0.0.1:${port}/`), LIVE);
  vi.advanceTimersByTime(60_000);
  expect(socket.destroyed).toBe(false);
});

it("an error of an open connection that nothing uses does not end the program", async () => {
  const port = await liveSockets((socket) => void setTimeout(() => socket.resetAndDestroy(), 10));
  const socket = await connector()(new URL(`http://127.0.0.1:${port}/`), LIVE);
  expect(socket.readyState).toBe("open");
  await new Promise((resolve) => socket.once("close", resolve));
});

it("a name that ends in a dot is looked up with it", async () => {
  const lookup = vi.fn((_host, _options, callback) => callback(new Error("no such name"), ""));
  await connector({ lookup })(new URL("http://api.example./"), LIVE).catch(() => {});
  expect(lookup.mock.calls[0]?.[0]).toBe("api.example.");
});

it("a name under localhost is connected to without TLS only where it resolves to this machine", async () => {
  const port = await liveSockets(() => {});
  const to = (address: string, family: number) => {
    const lookup: LookupFunction = (_host, _options, callback) => callback(null, [{ address, family }]);
    return connector({ lookup })(new URL(`http://api.localhost:${port}/`), LIVE);
  };
  expect((await to("127.0.0.1", 4)).readyState).toBe("open");
  for (const [address, family] of [
    ["192.0.2.1", 4],
    ["::", 6],
    ["2001:db8::1", 6],
  ] as const)
    await expect(to(address, family)).rejects.toMatchObject({ code: "ERR_NOT_THIS_MACHINE" });
});

it("an IPv6 address is connected to without its brackets, and not looked up", async () => {
  const lookup = vi.fn();
  await connector({ lookup })(new URL("http://[::1]:9/"), LIVE).catch(() => {});
  expect(lookup).not.toHaveBeenCalled();
});

it.each(["http", "https"])("a connection over %s that is given up is not waited for", async (protocol) => {
  const giveUp = new AbortController();
  const port = await liveSockets(() => giveUp.abort(new Error("given up")));
  const lookup: LookupFunction = (_host, _options, callback) => {
    if (protocol === "http") giveUp.abort(new Error("given up"));
    callback(null, [{ address: "127.0.0.1", family: 4 }]);
  };
  const connecting = connector({ lookup })(new URL(`${protocol}://api.example:${port}/`), giveUp.signal);
  await expect(connecting).rejects.toThrow("given up");
});

it("a connection that was given up before it began is not made", async () => {
  const lookup = vi.fn();
  const given = connector({ lookup })(
    new URL("http://api.example/"),
    AbortSignal.abort(new Error("given up")),
  );
  await expect(given).rejects.toThrow("given up");
  expect(lookup).not.toHaveBeenCalled();
});

function newClient(early: EarlyConnection) {
  const client = new HttpClient({ early });
  onTestFinished(() => client.close());
  onTestFinished(() => early.close());
  return client;
}

/** One request with a connection of its own: the status of its answer, or how it broke. */
async function ask(client: HttpClient, origin: string): Promise<number | TransportError> {
  let answer = 0;
  const request = { method: "POST", url: new URL(origin), timeoutMs: 3000 } as const;
  const onHead = (status: number) => {
    answer = status;
  };
  return client.send(request, { onHead, onData: () => {} }).then(
    () => answer,
    (error) => error,
  );
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 50));

describe("a connection that was opened early", () => {
  it("is there before anything is sent, and is what the first request goes over, and no other", async () => {
    const { sockets, origin } = await answeringServer();
    const client = newClient(new EarlyConnection(new URL(origin)));
    await turn();
    expect(sockets).toHaveLength(1);
    expect(sockets[0]?.bytesRead).toBe(0);
    expect(await ask(client, origin)).toBe(200);
    await turn();
    expect(sockets).toHaveLength(1);
    expect(await ask(client, origin)).toBe(200);
    expect(sockets).toHaveLength(2);
  });

  it("is waited for where it is not there yet", async () => {
    const { sockets, origin } = await answeringServer();
    expect(await ask(newClient(new EarlyConnection(new URL(origin))), origin)).toBe(200);
    expect(sockets).toHaveLength(1);
  });

  it("carries one request at a time: another makes a connection of its own", async () => {
    const { sockets, origin } = await answeringServer();
    const client = newClient(new EarlyConnection(new URL(origin)));
    expect(await Promise.all([ask(client, origin), ask(client, origin)])).toEqual([200, 200]);
    expect(sockets).toHaveLength(2);
  });

  it("and was refused is the first request's first try, which was not sent", async () => {
    const origin = `http://127.0.0.1:${await deadPort()}`;
    const client = newClient(new EarlyConnection(new URL(origin)));
    await turn();
    const failure = await ask(client, origin);
    expect(failure).toBeInstanceOf(TransportError);
    expect(failure).toMatchObject({ sent: false, cause: { code: "ECONNREFUSED" } });
  });

  it("and closed by the service since is not used", async () => {
    const { sockets, origin } = await answeringServer();
    const client = newClient(new EarlyConnection(new URL(origin)));
    await turn();
    sockets[0]?.end();
    await turn();
    expect(await ask(client, origin)).toBe(200);
    expect(sockets).toHaveLength(2);
  });

  it("that the service has written to before any request is not used", async () => {
    const { sockets, origin } = await answeringServer((socket) =>
      socket.write("HTTP/1.1 408 Request Timeout\r\n\r\n"),
    );
    expect(await ask(newClient(new EarlyConnection(new URL(origin))), origin)).toBe(200);
    expect(sockets).toHaveLength(2);
    expect(sockets[0]?.bytesRead).toBe(0);
    await vi.waitFor(() => expect(sockets[0]?.closed).toBe(true));
  });

  it("is not used for another origin", async () => {
    const [one, other] = [await answeringServer(), await answeringServer()];
    const client = newClient(new EarlyConnection(new URL(one.origin)));
    expect(await ask(client, other.origin)).toBe(200);
    await turn();
    expect(one.sockets[0]?.bytesRead).toBe(0);
  });

  it("is closed where it is not needed", async () => {
    const { sockets, origin } = await answeringServer();
    const early = new EarlyConnection(new URL(origin));
    await turn();
    const closed = new Promise((resolve) => sockets[0]?.once("close", resolve));
    early.close();
    await closed;
  });

  it("and refused is not reported where it was not needed", async () => {
    const early = new EarlyConnection(new URL(`http://127.0.0.1:${await deadPort()}`));
    await turn();
    early.close();
  });
});
