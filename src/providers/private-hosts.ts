import { BlockList, isIP } from "node:net";
import { bareHost, isLoopbackHost } from "../api/address.ts";

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
