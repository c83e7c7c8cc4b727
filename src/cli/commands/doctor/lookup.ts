import { lookup, Resolver } from "node:dns";
import { promises } from "node:fs";
import type { LookupFunction } from "node:net";

/** Shorter than the service's check, to distinguish a name server that does not answer from a service that does not. */
const NAME_SERVER_MS = 3_000;

/**
 * The system's name resolution, once a name server has answered. It cannot be given up: where none answers it would
 * keep the process alive long after the result is shown.
 */
export const lookupIfAnswered: LookupFunction = (hostname, options, callback) => {
  const resolve = () => lookup(hostname, options, callback);
  canBeAsked(hostname).then((isAnswered) => {
    if (isAnswered) resolve();
    else callback(Object.assign(new Error("no name server answers"), { code: "EAI_AGAIN" }), "");
  }, resolve);
};

/** Whether the system's resolution of a name will end soon: it is in the hosts file, or a name server answers anything. */
async function canBeAsked(hostname: string): Promise<boolean> {
  const hosts = await promises.readFile("/etc/hosts", "utf8").catch(() => "");
  if (hosts.split(/\s+/).includes(hostname)) return true;
  const resolver = new Resolver({ timeout: NAME_SERVER_MS, tries: 1 });
  return new Promise((resolve) => {
    resolver.resolve4(hostname, (error) => resolve(error?.code !== "ETIMEOUT"));
  });
}
