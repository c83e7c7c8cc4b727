import { BlockList, isIP } from "node:net";

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
