import type { LookupAddress, LookupOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

/** A URL's host name without the brackets of an IPv6 address and the dot of a fully qualified name. */
export function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

/**
 * Whether a URL's host is this machine: an address of it (mapped into IPv6, too), or a name under `localhost`, which is
 * only connected to where it resolves to one.
 */
export function isLoopbackHost(hostname: string): boolean {
  const host = bareHost(hostname);
  const version = isIP(host);
  if (version === 0) return host === "localhost" || host.endsWith(".localhost");
  return LOOPBACK.check(host, version === 6 ? "ipv6" : "ipv4");
}

/** Whether a URL's host appears to be on the public internet (a name may still resolve to a private address). */
export async function looksPublic(hostname: string): Promise<boolean> {
  const host = bareHost(hostname);
  return isIP(host) ? allPublic([{ address: host }]) : !isLoopbackHost(host);
}

async function allPublic(addresses: readonly Pick<LookupAddress, "address">[]): Promise<boolean> {
  for (const { address } of addresses) if (!(await isPublicAddress(address))) return false;
  return true;
}

/**
 * Whether an IP address is certainly on the public internet. Anything doubtful is not: special purposes (IANA's
 * registries), zone ids, notations that only some programs understand, and text that is not an address.
 */
export async function isPublicAddress(text: string): Promise<boolean> {
  if (!isIP(text) || text.includes("%")) return false;
  const { default: ipaddr } = await import("ipaddr.js");
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast";
  if (EMBEDS_IPV4.some((prefix) => address.match(ipaddr.IPv6.parse(prefix), 96))) {
    return new ipaddr.IPv4(address.toByteArray().slice(12)).range() === "unicast";
  }
  // What IANA allocates to networks; everything else in IPv6 is reserved for special purposes or not used yet.
  return address.match(ipaddr.IPv6.parse("2000::"), 3) && address.range() === "unicast";
}

/** Loads the library that knows IANA's registries: only downloads need it, and before a submit it would cost time. */
export async function prepareAddressCheck(): Promise<void> {
  await import("ipaddr.js");
}

/**
 * Prefixes of IPv6 addresses that embed an IPv4 address. Resolvers of IPv6-only networks return the second for every
 * host that only has IPv4 (DNS64). 6to4 and Teredo are not included: no public service uses them.
 */
const EMBEDS_IPV4 = ["::ffff:0:0", "64:ff9b::"];

/** A private address, to which a public service must not redirect this machine. The `cause` of a failed download. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/**
 * A resolver for downloads that refuses every address that is not public, unless the service itself is at such an
 * address. It runs at each connection, so a name cannot resolve differently after the check.
 */
export function guardedLookup(serviceHost: string): LookupFunction {
  return lookupBy((hostname, options) => allowedAddresses(hostname, options, serviceHost));
}

/**
 * A resolver for plain http:, which the key may only take within this machine: it refuses a name under `localhost` that
 * a name server gives another address. @param lookup what it asks. Default: the system's
 */
export function thisMachineLookup(lookup?: LookupFunction): LookupFunction {
  return lookupBy(async (hostname, options) => {
    const addresses = await resolve(hostname, options, lookup);
    if (addresses.every(({ address }) => isLoopbackHost(address))) return addresses;
    throw Object.assign(new Error(`${hostname} is another machine`), { code: "ERR_NOT_THIS_MACHINE" });
  });
}

function lookupBy(
  find: (hostname: string, options: LookupOptions) => Promise<LookupAddress[]>,
): LookupFunction {
  return (hostname, options, callback) => {
    find(hostname, options).then(
      (addresses) =>
        options.all
          ? callback(null, addresses)
          : callback(null, addresses[0]?.address ?? "", addresses[0]?.family),
      (error) => callback(error, ""),
    );
  };
}

/** @throws BlockedAddressError, or the system's error for a name that cannot be resolved */
async function allowedAddresses(
  hostname: string,
  options: LookupOptions,
  serviceHost: string,
): Promise<LookupAddress[]> {
  const addresses = await resolve(hostname, options);
  if (await allPublic(addresses)) return addresses;
  const serviceAddresses = await resolve(bareHost(serviceHost)).catch(() => []);
  if (await allPublic(serviceAddresses)) throw new BlockedAddressError(`${hostname} is not a public address`);
  return addresses;
}

/** Node's resolver is loaded here as well: a submit to an IP address does without it. */
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

/**
 * Private networks: of homes and companies (RFC 1918, 4193), of a link (RFC 3927), of carriers and overlays such as
 * Tailscale (RFC 6598).
 */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["100.64.0.0", 10],
] as const)
  PRIVATE.addSubnet(network, bits);
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addSubnet("fe80::", 10, "ipv6");

/** Names that no public name server answers for: without a dot, or below a domain that is kept for private use. */
const PRIVATE_NAME = /^[^.]+$|\.(?:local|internal|home\.arpa|lan|localdomain)$/;

/**
 * Whether a URL's host is this machine or in a private network, as far as its address or its name says: no name server
 * is asked.
 */
export function isPrivateHost(hostname: string): boolean {
  const host = bareHost(hostname);
  const version = isIP(host);
  if (isLoopbackHost(host)) return true;
  return version === 0 ? PRIVATE_NAME.test(host) : PRIVATE.check(host, version === 6 ? "ipv6" : "ipv4");
}
