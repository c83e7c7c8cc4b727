import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** What IANA gives out to networks; everything else in IPv6 has a special purpose, or none yet. */
const GLOBAL_UNICAST = [ipaddr.IPv6.parse("2000::"), 3] as const;

/**
 * Prefixes of addresses that end in the IPv4 address they stand for. Resolvers of IPv6-only networks give out the
 * second for every host that has IPv4 alone (DNS64). 6to4 and Teredo are not among them: no public service is there.
 */
const STANDS_FOR_IPV4 = ["::ffff:0:0", "64:ff9b::"].map((prefix) => [ipaddr.IPv6.parse(prefix), 96] as const);

/**
 * Whether an IP address is plainly one of the public internet. Whatever is in doubt is not: special purposes (IANA's
 * registries), zone ids, notations that only some programs understand, and text that is no address.
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
