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

// The user's own generator as it is written on the command line.

/**
 * A generator as it is written: the name of a kind that has an address of its own, the URL of an OpenAI-compatible
 * server, `<kind>:<url>`, `npm:<package>` or `command:<command line>`. The `name` of the result is read as the same generator
 * again, but for the query of its address: that may be a secret, and the name is recorded and shown.
 * @param label names the option in messages @throws UsageError
 */
export function parseGeneratorSpec(input: string, label: string): ParsedSpec {
  const text = input.trim();
  if (!text.startsWith("command:")) refuseQuerySecret(text, label, KEY_ELSEWHERE);
  if (/^https?:/i.test(text)) return serverSpec("openai", text, label);
  const [, kind = "", rest] = /^([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
  if (kind === "command" && rest !== undefined)
    return { kind, name: `command:${rest.trim()}`, words: parseGeneratorCommand(rest, label) };
  if (kind === "npm") return packageSpec(text, rest ?? "", label);
  if (isServerKind(kind)) {
    const url = rest ?? KINDS[kind].url;
    if (url !== null) return serverSpec(kind, url.trim(), label);
  }
  throw refused(`${label} ${JSON.stringify(redactAddress(text))} is not a generator`, hintFor(text));
}

const KEY_ELSEWHERE = [
  phrase`Set IMGGEN_GENERATOR_KEY, or store the key: ${action("run", "login --generator <url without it>")}`,
  phrase`\nTo send it as a header: ${option("generatorHeader")} <name>=<variable>`,
];
const OWN = Object.entries(KINDS).flatMap(([name, { url }]) => (url === null ? [] : [name]));
const FORMS = [
  `Write ${OWN.join(", ")}, a URL such as http://gpubox:1234, sdapi:<url>, comfyui:<url>, npm:<package> or command:<command line>.`,
  phrase`More: ${action("help", "generators")}`,
];

/** An address that lacks only its scheme: `gpubox:1234`. */
function hintFor(text: string): Wording {
  const whole = `http://${text.replace(/[?#].*$/s, "")}`;
  return /^[a-z0-9.-]+:\d+(\/|$)/i.test(text) && URL.canParse(whole) ? `Did you mean ${whole}?` : FORMS;
}

/** `@scope/name`, and an address in place of the package's own. */
const PACKAGE = /^((?:@[a-z0-9-][\w.-]*\/)?[a-z0-9-][\w.-]*)(?::(https?:.*))?$/is;

function packageSpec(text: string, rest: string, label: string): ParsedSpec {
  const [, name, address] = PACKAGE.exec(rest.trim()) ?? [];
  if (name === undefined)
    throw refused(
      `${label} ${JSON.stringify(redactAddress(text))} names no package`,
      "Write npm:<name of the package>.",
    );
  if (address === undefined) return { kind: "npm", name: `npm:${name}`, package: name, url: null };
  const { url } = serverSpec("sdapi", address, label);
  return { kind: "npm", name: `npm:${name}:${withoutSearch(url)}`, package: name, url };
}

function serverSpec(kind: ServerKindName, text: string, label: string): ServerSpec {
  if (!URL.canParse(text)) throw refused(`${label} ${JSON.stringify(redactAddress(text))} is not a URL`);
  const { protocol, origin, hostname, username, password, pathname, search, hash } = connectable(
    new URL(text),
  );
  if (protocol !== "https:" && protocol !== "http:") throw refused(`${label} is not an http(s) URL`);
  if (username !== "" || password !== "")
    throw refused(
      `${label} holds a user name or a password, which other users of this machine could see`,
      phrase`Set IMGGEN_GENERATOR_KEY=<user>:<password>, or store it: ${action("run", "login --generator <url without it>")}`,
    );
  if (hash !== "") throw refused(`${label} has a fragment (#…), which no server is sent`);
  if (protocol === "http:" && !isPrivateHost(hostname))
    throw refused(
      `${label} must begin with https:// (plain http: only for this machine and private networks)`,
      "Prompts and images would be sent unencrypted over the internet.",
    );
  const path = removeApiPath(pathname).replace(/\/+$/, "");
  const { url: defaultUrl, basePath } = KINDS[kind];
  const base = `${origin}${path === "" ? basePath : path}`;
  return { kind, name: base === defaultUrl ? kind : `${kind}:${base}`, url: `${base}${search}` };
}

/** A generator with the query of its address, as only the settings have it. */
export function storedSpec(spec: ParsedSpec): string {
  if (spec.kind === "command" || spec.url === null || withoutSearch(spec.url) === spec.url) return spec.name;
  return `${spec.kind === "npm" ? `npm:${spec.package}` : spec.kind}:${spec.url}`;
}

function withoutSearch(url: string): string {
  return url.replace(/\?.*$/s, "");
}

/** Loopback addresses in place of the ones that a server listens on, and prints, for all interfaces. */
const LOOPBACK_FOR: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["[::]", "[::1]"],
]);

/** Windows cannot connect to the address of all interfaces, and a key may only go to a loopback address. */
function connectable(url: URL): URL {
  url.hostname = LOOPBACK_FOR.get(url.hostname) ?? url.hostname;
  return url;
}

/**
 * One text for one server, however it is spelled and whatever is asked of it: requests to it take turns. Of a command its
 * command line.
 */
export function queueKey(spec: GeneratorSpec | ParsedSpec): string {
  if (spec.kind === "command" || spec.url === null) return spec.name;
  const { protocol, hostname, port } = new URL(spec.url);
  const host = isLoopbackHost(hostname) ? "localhost" : bareHost(hostname);
  return `${host}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** Whether a key may be sent there: not over an unencrypted network. */
export function mayCarryKey({ url }: { url: string }): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopbackHost(hostname);
}

function refused(message: string, hint: Wording = FORMS): UsageError {
  return new UsageError(`${message}.`, { hint });
}
