import { bareHost, isLoopbackHost, isPrivateHost } from "../api/address.ts";
import { UsageError } from "../lib/error-types.ts";
import { removeApiPath } from "../lib/operation-path.ts";
import { redactAddress, refuseQuerySecret } from "../lib/query-secret.ts";
import { action, option, phrase, type Wording } from "../lib/wording.ts";
import { parseGeneratorCommand } from "./command/command-words.ts";
import {
  type GeneratorSpec,
  isServerKind,
  KINDS,
  type ParsedSpec,
  type ServerKindName,
  type ServerSpec,
} from "./kinds.ts";

/** `name` is stored, so it omits the query, which can contain a secret. @param label for messages @throws UsageError */
export function parseGeneratorSpec(input: string, label: string): ParsedSpec {
  const text = input.trim();
  if (!text.startsWith("command:")) refuseQuerySecret(text, label, KEY_ADVICE);
  if (/^https?:/i.test(text)) return serverSpec("openai", text, label);
  const [, kind = "", rest] = /^([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
  if (kind === "command" && rest !== undefined)
    return { kind, name: `command:${rest.trim()}`, words: parseGeneratorCommand(rest, label) };
  if (kind === "npm") return packageSpec(text, rest ?? "", label);
  if (isServerKind(kind)) {
    const url = rest ?? KINDS[kind].url;
    if (url !== null) return serverSpec(kind, url.trim(), label);
  }
  throw specError(`${label} ${JSON.stringify(redactAddress(text))} is not a generator`, syntaxAdvice(text));
}

const KEY_ADVICE = [
  phrase`Set IMGGEN_GENERATOR_KEY, or store the key: ${action("run", "login --generator <url without the key>")}`,
  phrase`\nTo send it as a header: ${option("generatorHeader")} <name>=<variable>`,
];
const DEFAULT_NAMES = Object.entries(KINDS).flatMap(([name, { url }]) => (url === null ? [] : [name]));
const SYNTAX_HINT = [
  `Write ${DEFAULT_NAMES.join(", ")}, a URL such as http://gpubox:1234, sdapi:<url>, comfyui:<url>, npm:<package> or command:<command line>.`,
  phrase`More: ${action("help", "generators")}`,
];

function syntaxAdvice(text: string): Wording {
  const url = `http://${text.replace(/[?#].*$/s, "")}`;
  return /^[a-z0-9.-]+:\d+(\/|$)/i.test(text) && URL.canParse(url) ? `Did you mean ${url}?` : SYNTAX_HINT;
}

/** Matches a package, such as `@scope/name`, with an optional address that replaces the package's default address. */
const PACKAGE_PATTERN = /^((?:@[a-z0-9-][\w.-]*\/)?[a-z0-9-][\w.-]*)(?::(https?:.*))?$/is;

function packageSpec(text: string, rest: string, label: string): ParsedSpec {
  const [, name, address] = PACKAGE_PATTERN.exec(rest.trim()) ?? [];
  if (name === undefined)
    throw specError(
      `${label} ${JSON.stringify(redactAddress(text))} does not name a package`,
      "Write npm:<package name>.",
    );
  if (address === undefined) return { kind: "npm", name: `npm:${name}`, package: name, url: null };
  const { url } = serverSpec("sdapi", address, label);
  return { kind: "npm", name: `npm:${name}:${removeQuery(url)}`, package: name, url };
}

function serverSpec(kind: ServerKindName, text: string, label: string): ServerSpec {
  if (!URL.canParse(text)) throw specError(`${label} ${JSON.stringify(redactAddress(text))} is not a URL`);
  const { protocol, origin, hostname, username, password, pathname, search, hash } = replaceWildcardHost(
    new URL(text),
  );
  if (protocol !== "https:" && protocol !== "http:") throw specError(`${label} is not an http(s) URL`);
  if (username !== "" || password !== "")
    throw specError(
      `${label} contains a user name or a password, which other users of this machine could see`,
      phrase`Set IMGGEN_GENERATOR_KEY=<user>:<password>, or store it: ${action("run", "login --generator <url without the password>")}`,
    );
  if (hash !== "") throw specError(`${label} has a fragment (#…), which is never sent to a server`);
  if (protocol === "http:" && !isPrivateHost(hostname))
    throw specError(
      `${label} must begin with https:// (plain http: only for this machine and private networks)`,
      "Prompts and images would be sent unencrypted over the internet.",
    );
  const path = removeApiPath(pathname).replace(/\/+$/, "");
  const { url: defaultUrl, basePath } = KINDS[kind];
  const base = `${origin}${path === "" ? basePath : path}`;
  return { kind, name: base === defaultUrl ? kind : `${kind}:${base}`, url: `${base}${search}` };
}

/** Unlike `name`, the stored text contains the query of the address. */
export function storedSpec(spec: ParsedSpec): string {
  if (spec.kind === "command" || spec.url === null || removeQuery(spec.url) === spec.url) return spec.name;
  return `${spec.kind === "npm" ? `npm:${spec.package}` : spec.kind}:${spec.url}`;
}

function removeQuery(url: string): string {
  return url.replace(/\?.*$/s, "");
}

const LOOPBACK_HOSTS: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["[::]", "[::1]"],
]);

/** Windows cannot connect to a wildcard address, and `canCarryKey` allows keys over http only at loopback addresses. */
function replaceWildcardHost(url: URL): URL {
  url.hostname = LOOPBACK_HOSTS.get(url.hostname) ?? url.hostname;
  return url;
}

/** All spellings of a server's address have the same key. */
export function queueKey(spec: GeneratorSpec | ParsedSpec): string {
  if (spec.kind === "command" || spec.url === null) return spec.name;
  const { protocol, hostname, port } = new URL(spec.url);
  const host = isLoopbackHost(hostname) ? "localhost" : bareHost(hostname);
  return `${host}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** Whether a key can be sent to a URL safely: over https, or over http within this machine. */
export function canCarryKey({ url }: { url: string }): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopbackHost(hostname);
}

function specError(message: string, hint: Wording = SYNTAX_HINT): UsageError {
  return new UsageError(`${message}.`, { hint });
}
