import { describe, expect, it } from "vitest";
import { isPublicAddress } from "../../src/api/address.ts";
import { words } from "../support/words.ts";

/**
 * Every row of IANA's special-purpose address registries for IPv4 and IPv6, with addresses at its edges. Some rows are
 * globally reachable (anycast services, AS112, AMT), but none of them is where an image would be.
 */
const SPECIAL_PURPOSE: readonly (readonly [row: string, name: string, ...addresses: string[]])[] = [
  ["0.0.0.0/8", "this network", "0.0.0.1", "0.255.255.255"],
  ["0.0.0.0/32", "this host on this network", "0.0.0.0"],
  ["10.0.0.0/8", "private use", "10.0.0.0", "10.255.255.255"],
  ["100.64.0.0/10", "shared address space", "100.64.0.0", "100.127.255.255"],
  ["127.0.0.0/8", "loopback", "127.0.0.1", "127.255.255.255"],
  ["169.254.0.0/16", "link-local", "169.254.0.0", "169.254.169.254", "169.254.255.255"],
  ["172.16.0.0/12", "private use", "172.16.0.0", "172.31.255.255"],
  ["192.0.0.0/24", "IETF protocol assignments", "192.0.0.11", "192.0.0.255"],
  ["192.0.0.0/29", "IPv4 service continuity prefix", "192.0.0.0", "192.0.0.7"],
  ["192.0.0.8/32", "IPv4 dummy address", "192.0.0.8"],
  ["192.0.0.9/32", "port control protocol anycast", "192.0.0.9"],
  ["192.0.0.10/32", "TURN anycast", "192.0.0.10"],
  ["192.0.0.170/32", "NAT64/DNS64 discovery", "192.0.0.170"],
  ["192.0.0.171/32", "NAT64/DNS64 discovery", "192.0.0.171"],
  ["192.0.2.0/24", "documentation (TEST-NET-1)", "192.0.2.0", "192.0.2.255"],
  ["192.31.196.0/24", "AS112-v4", "192.31.196.1"],
  ["192.52.193.0/24", "AMT", "192.52.193.1"],
  ["192.88.99.0/24", "deprecated 6to4 relay anycast", "192.88.99.1"],
  ["192.88.99.2/32", "6a44 relay anycast", "192.88.99.2"],
  ["192.168.0.0/16", "private use", "192.168.0.0", "192.168.255.255"],
  ["192.175.48.0/24", "direct delegation AS112", "192.175.48.1"],
  ["198.18.0.0/15", "benchmarking", "198.18.0.0", "198.19.255.255"],
  ["198.51.100.0/24", "documentation (TEST-NET-2)", "198.51.100.1"],
  ["203.0.113.0/24", "documentation (TEST-NET-3)", "203.0.113.1"],
  ["224.0.0.0/4", "multicast (a registry of its own)", "224.0.0.1", "239.255.255.255"],
  ["240.0.0.0/4", "reserved", "240.0.0.0", "255.255.255.254"],
  ["255.255.255.255/32", "limited broadcast", "255.255.255.255"],
  ["::1/128", "loopback", "::1"],
  ["::/128", "unspecified", "::"],
  ["::/96", "IPv4-compatible, deprecated", "::2", "::7f00:1", "::127.0.0.1", "::808:808"],
  ["::ffff:0:0/96", "IPv4-mapped", "::ffff:127.0.0.1", "::ffff:a00:1", "::ffff:169.254.169.254"],
  ["64:ff9b::/96", "IPv4-IPv6 translation", "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::"],
  ["64:ff9b:1::/48", "local-use translation", "64:ff9b:1::8.8.8.8", "64:ff9b:1:ffff::1"],
  ["64:ff9b::/32", "what lies between the two", "64:ff9b:0:1::8.8.8.8", "64:ff9b:2::8.8.8.8"],
  ["100::/64", "discard-only", "100::", "100::ffff:ffff:ffff:ffff"],
  ["100:0:0:1::/64", "dummy prefix", "100:0:0:1::", "100:0:0:1::1"],
  ["2001::/23", "IETF protocol assignments", "2001:5::1", "2001:1ff:ffff::1"],
  ["2001::/32", "Teredo", "2001::1", "2001:0:808:808::1"],
  ["2001:1::1/128", "port control protocol anycast", "2001:1::1"],
  ["2001:1::2/128", "TURN anycast", "2001:1::2"],
  ["2001:1::3/128", "DNS-SD registration anycast", "2001:1::3"],
  ["2001:2::/48", "benchmarking", "2001:2::1"],
  ["2001:3::/32", "AMT", "2001:3::1"],
  ["2001:4:112::/48", "AS112-v6", "2001:4:112::1"],
  ["2001:10::/28", "deprecated ORCHID", "2001:10::1"],
  ["2001:20::/28", "ORCHIDv2", "2001:20::1", "2001:2f:ffff::1"],
  ["2001:30::/28", "drone remote id tags", "2001:30::1", "2001:3f:ffff::1"],
  ["2001:db8::/32", "documentation", "2001:db8::", "2001:db8:ffff::1"],
  ["2002::/16", "6to4", "2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"],
  ["2620:4f:8000::/48", "direct delegation AS112", "2620:4f:8000::1"],
  ["3fff::/20", "documentation", "3fff::1", "3fff:fff:ffff::1"],
  ["5f00::/16", "segment routing", "5f00::1"],
  ["fc00::/7", "unique-local", "fc00::1", "fdff:ffff::1"],
  ["fe80::/10", "link-local", "fe80::1", "febf::1"],
  ["fec0::/10", "site-local, deprecated", "fec0::1", "feff::1"],
  ["ff00::/8", "multicast (a registry of its own)", "ff00::", "ff02::1"],
  ["outside 2000::/3", "nothing is given out", "200::1", "400::1", "1fff::1", "4000::1", "e000::1"],
  ["::ffff:0:0:0/96", "IPv4-translated", "::ffff:0:8.8.8.8", "::ffff:0:127.0.0.1"],
];

it.each(SPECIAL_PURPOSE)("%s (%s) is not public", async (_row, _name, ...addresses) => {
  for (const address of addresses) expect(await isPublicAddress(address), address).toBe(false);
});

describe("an address that is not plainly one", () => {
  it.each([
    ...words(`cdn.example 8.8.8 0x08080808 010.8.8.8 134744072 2606:4700::1111%eth0 fe80::1%eth0
    [2606:4700::1111] 2606:4700:::1111`),
    "",
  ])("%j is not public", async (address) => {
    expect(await isPublicAddress(address)).toBe(false);
  });
});

describe("a public address", () => {
  it.each(
    words(`1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
    169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 198.17.255.255
    198.20.0.0 223.255.255.255 2001:200::1 2001:db7::1 2003::1 2606:4700:4700::1111
    2a00:1450:4001::1 3ffe::1`),
  )("is %s", async (address) => {
    expect(await isPublicAddress(address)).toBe(true);
  });

  it.each(["::ffff:8.8.8.8", "::ffff:808:808", "64:ff9b::8.8.8.8", "64:ff9b::808:808"])(
    "is %s too: IPv6-only networks reach public IPv4 hosts so",
    async (address) => {
      expect(await isPublicAddress(address)).toBe(true);
    },
  );
});
