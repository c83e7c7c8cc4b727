import { BlockList, isIP } from "node:net";
import { bareHost } from "./address.ts";

/** An entry of `NO_PROXY`. `port` is null for an entry that applies to all ports. */
interface Entry {
  matches: (host: string) => boolean;
  port: number | null;
}

/**
 * Parsed `NO_PROXY`: entries separated by commas, semicolons or spaces. An entry is `*` for all hosts, a name with its
 * subdomains (`example.com`, `.example.com`, `*.example.com`), a name that contains `*`, an address, or a network
 * (`10.0.0.0/8`, `fd00::/8`). Entries can end with a port, except IPv6 networks and IPv6 addresses without brackets.
 */
export interface NoProxy {
  /** Whether a URL is reached without a proxy. */
  covers(url: URL): boolean;
  /** Invalid entries, as the user wrote them. */
  unknown: string[];
}

export function parseNoProxy(text: string): NoProxy {
  const entries: Entry[] = [];
  const unknown: string[] = [];
  for (const part of text.split(/[,;\s]+/)) {
    if (part === "") continue;
    const entry = parseEntry(part);
    if (entry === null) unknown.push(part);
    else entries.push(entry);
  }
  const covers = (url: URL) => {
    const host = bareHost(url.hostname);
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    return entries.some((entry) => (entry.port ?? port) === port && entry.matches(host));
  };
  return { covers, unknown };
}

function parseEntry(text: string): Entry | null {
  if (isIP(text) !== 0) return { matches: network(text), port: null };
  const [, host = text, port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(text) ?? [];
  const matches = parseHost(host);
  return matches && { matches, port: port === undefined ? null : Number(port) };
}

/** Parses an address, a network or a name. @returns null for an invalid network or name */
function parseHost(text: string): Entry["matches"] | null {
  const [, address = text, bits] = /^(.*)\/(\d{1,3})$/.exec(text) ?? [];
  const ip = address.replace(/^\[(.*)\]$/, "$1");
  if (isIP(ip) !== 0) return Number(bits ?? 0) > (isIP(ip) === 6 ? 128 : 32) ? null : network(ip, bits);
  return bits === undefined ? parseName(text) : null;
}

/** Matches one address, or all whose first `bits` bits are equal. */
function network(address: string, bits?: string): Entry["matches"] {
  const list = new BlockList();
  const family = ipFamily(address);
  if (bits === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(bits), family);
  return (host) => isIP(host) !== 0 && list.check(host, ipFamily(host));
}

const ipFamily = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** Matches a name and its subdomains, with or without a leading dot. `*` matches any text. */
function parseName(text: string): Entry["matches"] | null {
  if (text === "*") return () => true;
  const name = text.replace(/^\*?\./, "");
  const url = `http://${name}/`;
  if (!URL.canParse(url) || !/^[^\s/:?#@\\[\]]+$/.test(name)) return null;
  // The URL parser lower-cases and encodes the name, as in the URLs to match.
  const host = bareHost(new URL(url).hostname);
  const pattern = host.replace(/[.+^${}()|]/g, "\\$&").replaceAll("*", ".*");
  const fullPattern = new RegExp(`^(?:.*\\.)?${pattern}$`);
  return (hostname) => fullPattern.test(hostname);
}
