import { type LookupAddress, lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { bareHost, isLoopbackHost } from "./host.ts";

/** Whether a URL's host is, by what it says, on the public internet (a name may yet resolve to another place). */
export async function looksPublic(hostname: string): Promise<boolean> {
  const host = bareHost(hostname);
  return isIP(host) ? allPublic([host]) : !isLoopbackHost(host);
}

/** The library that knows the registries is started by the first download: before the submit it would only cost time. */
async function allPublic(addresses: readonly string[]): Promise<boolean> {
  const { isPublicAddress } = await import("./public-address.ts");
  return addresses.every(isPublicAddress);
}

/** A host that a public service has no business to send anyone to. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/**
 * A resolver for downloads that refuses every address that is not public, unless the service itself is at such an
 * address. Asked at each connection, so a name cannot change its mind in between.
 */
export function guardedLookup(serviceHost: string): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "");
      requireAllowed(hostname, addresses, serviceHost).then(
        () =>
          options.all
            ? callback(null, addresses)
            : callback(null, addresses[0]?.address ?? "", addresses[0]?.family),
        (blocked) => callback(blocked, ""),
      );
    });
  };
}

async function requireAllowed(hostname: string, found: LookupAddress[], serviceHost: string): Promise<void> {
  if (await allPublic(found.map(({ address }) => address))) return;
  const own = await addressesOf(bareHost(serviceHost));
  if (await allPublic(own)) throw new BlockedAddressError(`${hostname} is not a public address`);
}

/** None where the name cannot be looked up. */
function addressesOf(host: string): Promise<string[]> {
  return new Promise((resolve) => {
    lookup(host, { all: true }, (error, found) => resolve(error ? [] : found.map(({ address }) => address)));
  });
}
