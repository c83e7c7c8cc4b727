import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** What IANA allocates to networks; everything else in IPv6 is reserved for special purposes or not used yet. */
const GLOBAL_UNICAST = [ipaddr.IPv6.parse("2000::"), 3] as const;

/**
 * Prefixes of IPv6 addresses that embed an IPv4 address. Resolvers of IPv6-only networks return the second for every
 * host that only has IPv4 (DNS64). 6to4 and Teredo are not included: no public service uses them.
 */
const STANDS_FOR_IPV4 = ["::ffff:0:0", "64:ff9b::"].map((prefix) => [ipaddr.IPv6.parse(prefix), 96] as const);

/**
 * Whether an IP address is certainly on the public internet. Anything doubtful is not: special purposes (IANA's
 * registries), zone ids, notations that only some programs understand, and text that is not an address.
 */
export function isPublicAddress(text: string): boolean {
  if (!isIP(text) || text.includes("%")) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast";
  if (STANDS_FOR_IPV4.some(([prefix, bits]) => address.match(prefix, bits))) {
    return new ipaddr.IPv4(address.toByteArray().slice(12)).range() === "unicast";
  }
  return address.match(...GLOBAL_UNICAST) && address.range() === "unicast";
}
