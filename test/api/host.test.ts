import { describe, expect, it } from "vitest";
import { isLoopbackHost } from "../../src/api/host.ts";

/** A host as a URL's parser shows it: `127.1` and `0x7f000001` are `127.0.0.1` there. */
const hostOf = (host: string) => new URL(`http://${host}/`).hostname;

describe("a host of this machine", () => {
  it.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "127.255.255.254",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "api.localhost",
  ])("is %s", (host) => {
    expect(isLoopbackHost(hostOf(host))).toBe(true);
  });

  it.each([
    "128.0.0.1",
    "10.0.0.1",
    "0.0.0.0",
    "[::2]",
    "[fe80::1]",
    "localhost.example",
    "mylocalhost",
    "127.0.0.1.example",
  ])("is not %s", (host) => {
    expect(isLoopbackHost(hostOf(host))).toBe(false);
  });
});
