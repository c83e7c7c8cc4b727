import { afterEach, expect, it, vi } from "vitest";
import { connector } from "../../src/api/connect.ts";
import { liveSockets } from "../support/live-server.ts";

afterEach(() => void vi.useRealTimers());

it("a connection that is not made within 10 s has timed out", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const connecting = connector(() => {})(new URL("http://api.example/")).catch((error) => error);
  vi.advanceTimersByTime(9999);
  expect(await Promise.race([connecting, "still trying"])).toBe("still trying");
  vi.advanceTimersByTime(1);
  expect(await connecting).toMatchObject({ code: "ETIMEDOUT" });
});

it("a connection that was made in time stays open after that", async () => {
  const port = await liveSockets(() => {});
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const socket = await connector()(new URL(`http://127.0.0.1:${port}/`));
  vi.advanceTimersByTime(60_000);
  expect(socket.destroyed).toBe(false);
});

it("an error of an open connection that nothing uses does not end the program", async () => {
  const port = await liveSockets((socket) => void setTimeout(() => socket.resetAndDestroy(), 10));
  const socket = await connector()(new URL(`http://127.0.0.1:${port}/`));
  expect(socket.readyState).toBe("open");
  await new Promise((resolve) => socket.once("close", resolve));
});

it("an IPv6 address is connected to without its brackets", async () => {
  const error = await connector()(new URL("http://[::1]:9/")).catch((reason) => reason);
  expect(error.code).not.toBe("ENOTFOUND");
});
