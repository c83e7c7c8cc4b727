import type { LookupAddress, LookupOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

/** Removes the brackets of an IPv6 address and the final dot of a fully qualified name. */
export function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

/** Whether a host is `localhost`, a name under it, or a loopback address (`::ffff:127.0.0.1` included). */
export function isLoopbackHost(hostname: string): boolean {
  const host = bareHost(hostname);
  const version = isIP(host);
  if (version === 0) return host === "localhost" || host.endsWith(".localhost");
  return LOOPBACK.check(host, version === 6 ? "ipv6" : "ipv4");
}

/** Whether a host is a public address or a name outside `localhost`. `guardedLookup` checks the name's address. */
export async function looksPublic(hostname: string): Promise<boolean> {
  const host = bareHost(hostname);
  return isIP(host) ? areAllPublic([{ address: host }]) : !isLoopbackHost(host);
}

async function areAllPublic(addresses: readonly Pick<LookupAddress, "address">[]): Promise<boolean> {
  for (const { address } of addresses) if (!(await isPublicAddress(address))) return false;
  return true;
}

/** Whether an IP address is certainly public: in no special-purpose registry of IANA, and without a zone id. */
export async function isPublicAddress(text: string): Promise<boolean> {
  if (!isIP(text) || text.includes("%")) return false;
  const { default: ipaddr } = await import("ipaddr.js");
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast";
  if (IPV4_PREFIXES.some((prefix) => address.match(ipaddr.IPv6.parse(prefix), 96))) {
    return new ipaddr.IPv4(address.toByteArray().slice(12)).range() === "unicast";
  }
  // IANA allocates public IPv6 addresses only from 2000::/3.
  return address.match(ipaddr.IPv6.parse("2000::"), 3) && address.range() === "unicast";
}

/** Loads the address library before downloads need it. Loading it at startup would delay a submit. */
export async function prepareAddressCheck(): Promise<void> {
  await import("ipaddr.js");
}

/** IPv6 prefixes of embedded IPv4 addresses (mapped, DNS64). Public services do not use 6to4 and Teredo. */
const IPV4_PREFIXES = ["::ffff:0:0", "64:ff9b::"];

/** A download from a public service led to a private address. The error is the `cause` of a TransportError. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/**
 * Returns a resolver that refuses private addresses, unless the service has a private address too. Each connection uses
 * the address that the resolver has checked, so that a name cannot resolve differently after the check.
 */
export function guardedLookup(serviceHost: string): LookupFunction {
  return toLookupFunction((hostname, options) => allowedAddresses(hostname, options, serviceHost));
}

/**
 * Returns a resolver that refuses addresses of other machines, because a name server can give a name under `localhost`
 * any address, and a key must not leave this machine over plain http:.
 * @param lookup default: the system's resolver
 */
export function thisMachineLookup(lookup?: LookupFunction): LookupFunction {
  return toLookupFunction(async (hostname, options) => {
    const addresses = await resolve(hostname, options, lookup);
    if (addresses.every(({ address }) => isLoopbackHost(address))) return addresses;
    throw Object.assign(new Error(`${hostname} is another machine`), { code: "ERR_NOT_THIS_MACHINE" });
  });
}

function toLookupFunction(
  findAddresses: (hostname: string, options: LookupOptions) => Promise<LookupAddress[]>,
): LookupFunction {
  return (hostname, options, callback) => {
    findAddresses(hostname, options).then(
      (addresses) =>
        options.all
          ? callback(null, addresses)
          : callback(null, addresses[0]?.address ?? "", addresses[0]?.family),
      (error) => callback(error, ""),
    );
  };
}

/** @throws BlockedAddressError, or the resolver's error */
async function allowedAddresses(
  hostname: string,
  options: LookupOptions,
  serviceHost: string,
): Promise<LookupAddress[]> {
  const addresses = await resolve(hostname, options);
  if (await areAllPublic(addresses)) return addresses;
  const serviceAddresses = await resolve(bareHost(serviceHost)).catch(() => []);
  if (await areAllPublic(serviceAddresses))
    throw new BlockedAddressError(`${hostname} is not a public address`);
  return addresses;
}

/** Imports `node:dns` only when called, because a submit to an IP address does not need it. */
async function resolve(
  hostname: string,
  options: LookupOptions = {},
  lookup?: LookupFunction,
): Promise<LookupAddress[]> {
  const all = { ...options, all: true } as const;
  if (lookup === undefined) return (await import("node:dns")).promises.lookup(hostname, all);
  return new Promise((succeed, fail) => {
    lookup(hostname, all, (error, addresses, family = 4) => {
      if (error) fail(error);
      else succeed(typeof addresses === "string" ? [{ address: addresses, family }] : addresses);
    });
  });
}

/** Private (RFC 1918, 4193), link-local (RFC 3927) and carrier networks (RFC 6598, also used by Tailscale). */
const PRIVATE_NETWORKS = new BlockList();
for (const [network, bits] of [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["100.64.0.0", 10],
] as const)
  PRIVATE_NETWORKS.addSubnet(network, bits);
PRIVATE_NETWORKS.addSubnet("fc00::", 7, "ipv6");
PRIVATE_NETWORKS.addSubnet("fe80::", 10, "ipv6");

/** Names without a dot, and names under a domain for private networks. */
const PRIVATE_NAME = /^[^.]+$|\.(?:local|internal|home\.arpa|lan|localdomain)$/;

/** Whether a host is this machine or in a private network, judged by its text, without a name lookup. */
export function isPrivateHost(hostname: string): boolean {
  const host = bareHost(hostname);
  const version = isIP(host);
  if (isLoopbackHost(host)) return true;
  return version === 0
    ? PRIVATE_NAME.test(host)
    : PRIVATE_NETWORKS.check(host, version === 6 ? "ipv6" : "ipv4");
}
