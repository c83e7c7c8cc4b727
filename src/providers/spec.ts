import { BlockList, isIP } from "node:net";
import { bareHost, isLoopbackHost } from "../api/address.ts";
import { UsageError } from "../lib/error-types.ts";
import type { SizeForm, WorkOptions } from "../task/work.ts";
import { parseGeneratorCommand } from "./command/command-words.ts";

// The user's own generator as it is written on the command line, and everything else that is set about it.

/** Which generator: its kind, and where it is. */
export type GeneratorSpec = ServerSpec<"openai"> | ServerSpec<"sdapi"> | ServerSpec<"comfyui"> | CommandSpec;

interface ServerSpec<Kind> {
  kind: Kind;
  /** The spec in its canonical spelling, without a user name or password: it identifies the generator in the ledger. */
  name: string;
  /** Its base, with `/v1` where the given URL had no path, without a slash at its end; a query is kept. */
  url: string;
}

interface CommandSpec {
  kind: "command";
  /** The command line as it was given. */
  name: string;
  /** The program and its arguments, with placeholders. */
  words: readonly string[];
}

/**
 * How it is used. What makes an image, and whether it is paid for, is settled with the intent of its task; here it is
 * what the user has set for new ones.
 */
export interface GeneratorOptions {
  /** `--generator-model` */
  model: string | null;
  /** `--generator-side`: the longest side in pixels for 1K or no quality; 2K is twice, 4K four times as long. Default 1024. */
  sidePx: number;
  /** `--generator-size`: how a size is sent; null: as its kind does. */
  sizeForm: SizeForm | null;
  /** `--generator-concurrency`. Default 1. */
  concurrency: number;
  /** `--generator-timeout`. Default 600 000. */
  timeoutMs: number;
  /** `--generator-field` */
  fields: WorkOptions["fields"];
  /** `--workflow`: the user's file, and how messages name the option; undefined for none. */
  workflow?: { path: string; label: string } | undefined;
  /** `--generator-header`, with the variables' values in place. */
  headers: Readonly<Record<string, string>>;
  /** By the kind and the address, unless `--generator-paid` or `--generator-free` says otherwise. */
  isPaid: boolean;
  key: string | null;
}

const OPENAI_URL = "https://api.openai.com/v1";

/**
 * A generator as it is written: `openai`, the URL of an OpenAI-compatible server, `openai:<url>`, `sdapi:<url>`,
 * `comfyui:<url>` or `command:<command line>`. The `name` of the result is read as the same generator again.
 * @param label names the option in messages @throws UsageError
 */
export function parseGeneratorSpec(given: string, label: string): GeneratorSpec {
  const text = given.trim();
  if (text === "openai") return { kind: "openai", name: "openai", url: OPENAI_URL };
  if (/^https?:/i.test(text)) return serverSpec("openai", text, label);
  const [, kind, rest = ""] = /^(openai|sdapi|comfyui|command):(.*)$/s.exec(text) ?? [];
  if (kind === "openai" || kind === "sdapi" || kind === "comfyui")
    return serverSpec(kind, rest.trim(), label);
  if (kind === "command")
    return { kind, name: `command:${rest.trim()}`, words: parseGeneratorCommand(rest, label) };
  throw refused(`${label} ${JSON.stringify(text)} is not a generator`, hintFor(text));
}

const FORMS =
  "Write openai, a URL such as http://gpubox:1234, sdapi:<url>, comfyui:<url> or command:<command line>. More: imggen help generators";

/** An address that lacks only its scheme: `gpubox:1234`. */
function hintFor(text: string): string {
  const whole = `http://${text}`;
  return /^[a-z0-9.-]+:\d+(\/|$)/i.test(text) && URL.canParse(whole) ? `Did you mean ${whole}?` : FORMS;
}

function serverSpec(kind: "openai" | "sdapi" | "comfyui", text: string, label: string): GeneratorSpec {
  if (!URL.canParse(text)) throw refused(`${label} ${JSON.stringify(text)} is not a URL`);
  const { protocol, origin, hostname, username, password, pathname, search, hash } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") throw refused(`${label} is not an http(s) URL`);
  if (username !== "" || password !== "")
    throw refused(
      `${label} holds a user name or a password, which other users of this machine could see`,
      "Set IMGGEN_GENERATOR_KEY=<user>:<password>, or store it: imggen login --generator <url without it>",
    );
  if (hash !== "") throw refused(`${label} has a fragment (#…), which no server is sent`);
  if (protocol === "http:" && !isPrivateHost(hostname))
    throw refused(
      `${label} must begin with https:// (plain http: only for this machine and private networks)`,
      "Prompts and images would be sent unencrypted over the internet.",
    );
  const path = pathname.replace(/\/+$/, "");
  const url = `${origin}${path === "" && kind === "openai" ? "/v1" : path}${search}`;
  return { kind, name: url === OPENAI_URL && kind === "openai" ? "openai" : `${kind}:${url}`, url };
}

/**
 * One text for one server, however it is spelled and whatever is asked of it: requests to it take turns. Of a command its
 * command line.
 */
export function placeOf(spec: GeneratorSpec): string {
  if (spec.kind === "command") return spec.name;
  const { protocol, hostname, port } = new URL(spec.url);
  const host = isLoopbackHost(hostname) ? "localhost" : bareHost(hostname);
  return `${host}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** Whether a key may be sent there: not over an unencrypted network. */
export function mayCarryKey({ url }: { url: string }): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopbackHost(hostname);
}

function refused(message: string, hint = FORMS): UsageError {
  return new UsageError(`${message}.`, { hint });
}

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
