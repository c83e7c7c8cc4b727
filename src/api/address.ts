import { type LookupAddress, lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { bareHost, isLoopbackHost } from "./host.ts";

/** Whether a URL's host appears to be on the public internet (a name may still resolve to a private address). */
export async function looksPublic(hostname: string): Promise<boolean> {
  const host = bareHost(hostname);
  return isIP(host) ? allPublic([host]) : !isLoopbackHost(host);
}

/** The library that knows IANA's registries is loaded for the first download: before the submit it would only cost time. */
async function allPublic(addresses: readonly string[]): Promise<boolean> {
  const { isPublicAddress } = await import("./public-address.ts");
  return addresses.every(isPublicAddress);
}

/** A private address that a public service must not make this machine connect to. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/**
 * A resolver for downloads that refuses every address that is not public, unless the service itself is at such an
 * address. It runs at each connection, so a name cannot resolve differently after the check.
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

/** No addresses if the name cannot be resolved. */
function addressesOf(host: string): Promise<string[]> {
  return new Promise((resolve) => {
    lookup(host, { all: true }, (error, found) => resolve(error ? [] : found.map(({ address }) => address)));
  });
}
