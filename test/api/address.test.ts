import type { LookupAddress } from "node:dns";
import { describe, expect, it } from "vitest";
import { BlockedAddressError, guardedLookup, isLoopbackHost, looksPublic } from "../../src/api/address.ts";
import { words } from "../support/words.ts";

/** A host as a URL's parser shows it: `127.1` and `0x7f000001` are `127.0.0.1` there. */
const hostOf = (host: string) => new URL(`http://${host}/`).hostname;

describe("a host that looks public", () => {
  it.each(
    words(`example.com cdn.example 8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 192.167.1.1
    [2606:4700::1111] [::ffff:8.8.8.8]`),
  )("is %s", async (host) => {
    expect(await looksPublic(hostOf(host))).toBe(true);
  });

  // Which addresses are none: public-address.test.ts.
  it.each(
    words(
      "localhost api.localhost 127.0.0.1 0 10.1.2.3 169.254.169.254 [::1] [fd12:3456::1] [::ffff:10.0.0.1]",
    ),
  )("is not %s", async (host) => {
    expect(await looksPublic(hostOf(host))).toBe(false);
  });
});

describe("looking up a download's host", () => {
  const addressesOf = (hostname: string, serviceHost: string) =>
    new Promise<string | LookupAddress[]>((resolve, reject) => {
      guardedLookup(serviceHost)(hostname, { all: true }, (error, addresses) =>
        error ? reject(error) : resolve(addresses),
      );
    });

  it("refuses a name that leads to this machine, for a public service", async () => {
    await expect(addressesOf("localhost", "8.8.8.8")).rejects.toBeInstanceOf(BlockedAddressError);
  });

  it.each(["127.0.0.1", "localhost", "[::1]", "10.0.0.1"])(
    "allows it where the service is at %s itself",
    async (service) => {
      const addresses = await addressesOf("localhost", service);
      expect(addresses).toContainEqual(
        expect.objectContaining({ address: expect.stringMatching(/^127|^::1/) }),
      );
    },
  );

  it("gives one address where one is asked for", async () => {
    const answer = await new Promise((resolve) => {
      guardedLookup("127.0.0.1")("127.0.0.1", { family: 4 }, (...result) => resolve(result));
    });
    expect(answer).toEqual([null, "127.0.0.1", 4]);
  });

  it("passes a public address on", async () => {
    expect(await addressesOf("8.8.8.8", "8.8.8.8")).toEqual([{ address: "8.8.8.8", family: 4 }]);
  });

  it("passes on that a name does not exist", async () => {
    await expect(addressesOf("no\0name", "8.8.8.8")).rejects.not.toBeInstanceOf(BlockedAddressError);
  });
});

describe("a host of this machine", () => {
  it.each(
    words(`127.0.0.1 127.1 2130706433 0x7f000001 127.255.255.254 [::1] [0:0:0:0:0:0:0:1]
    [::ffff:127.0.0.1] localhost LOCALHOST localhost. api.localhost`),
  )("is %s", (host) => {
    expect(isLoopbackHost(hostOf(host))).toBe(true);
  });

  it.each(
    words(`128.0.0.1 10.0.0.1 0.0.0.0 [::2] [fe80::1] localhost.example mylocalhost 127.0.0.1.example`),
  )("is not %s", (host) => {
    expect(isLoopbackHost(hostOf(host))).toBe(false);
  });
});
