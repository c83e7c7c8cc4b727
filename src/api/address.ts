import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

const NOT_PUBLIC = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
] as const) {
  NOT_PUBLIC.addSubnet(network, bits);
}
for (const [network, bits] of [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
] as const) {
  NOT_PUBLIC.addSubnet(network, bits, "ipv6");
}

function listed(list: BlockList, address: string): boolean {
  const v4 = mappedIpv4(address);
  return list.check(v4 ?? address, v4 === null && isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** The IPv4 address inside `::ffff:a.b.c.d`, however it is written (a URL shows it as two groups of hex). */
function mappedIpv4(address: string): string | null {
  const tail = /^::ffff:(.+)$/i.exec(address)?.[1];
  if (tail === undefined || isIP(tail) === 4) return tail ?? null;
  const groups = /^([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i
    .exec(tail)
    ?.slice(1)
    .map((group) => parseInt(group, 16));
  if (!groups) return null;
  return groups.flatMap((group) => [group >> 8, group & 255]).join(".");
}

function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

/** Whether a URL's host is this machine: an address of it, or a name under `localhost`. */
export function isLoopbackHost(hostname: string): boolean {
  const host = bareHost(hostname);
  return isIP(host) ? listed(LOOPBACK, host) : host === "localhost" || host.endsWith(".localhost");
}

/** Whether a URL's host is, by what it says, reachable on the public internet (a name may yet resolve elsewhere). */
export function looksPublic(hostname: string): boolean {
  const host = bareHost(hostname);
  return isIP(host) ? !listed(NOT_PUBLIC, host) : !isLoopbackHost(host);
}

/** A host that a public service has no business to send anyone to. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/**
 * A resolver for downloads that refuses addresses of this machine and of private networks, unless the
 * service itself is at such an address. Asked at each connection, so a name cannot change its mind in between.
 */
export function guardedLookup(serviceHost: string): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "");
      const answer = () =>
        options.all
          ? callback(null, addresses)
          : callback(null, addresses[0]?.address ?? "", addresses[0]?.family);
      if (addresses.every(({ address }) => !listed(NOT_PUBLIC, address))) return answer();
      lookup(bareHost(serviceHost), { all: true }, (_, own) => {
        if (own?.some(({ address }) => listed(NOT_PUBLIC, address))) return answer();
        callback(new BlockedAddressError(`${hostname} is not a public address`), "");
      });
    });
  };
}
