import type { LookupFunction } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { connector } from "../../src/api/connect.ts";
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

it("an error on the way to a proxy says that it is the proxy's", async () => {
  const host = `127.0.0.1:${await deadPort()}`;
  const connect = connector({ proxies: { http: `http://${host}`, https: "", except: "" } });
  const connecting = connect(new URL("http://service.example/api"), LIVE);
  await expect(connecting).rejects.toMatchObject({
    name: "ProxyError",
    host,
    cause: { code: "ECONNREFUSED" },
  });
});
