import { isLoopbackHost } from "../api/address.ts";
import { UsageError } from "../lib/error-types.ts";
import { parseGeneratorCommand } from "./command/command-words.ts";
import { isPrivateHost } from "./private-host.ts";
import type { GeneratorSpec } from "./spec.ts";

const OPENAI_URL = "https://api.openai.com/v1";

/**
 * A generator as it is written: `openai`, the URL of an OpenAI-compatible server, `openai:<url>`, `sdapi:<url>` or
 * `command:<command line>`. The `name` of the result is read as the same generator again.
 * @param label names the option in messages @throws UsageError
 */
export function parseGeneratorSpec(given: string, label: string): GeneratorSpec {
  const text = given.trim();
  if (text === "openai") return { kind: "openai", name: "openai", url: OPENAI_URL };
  if (/^https?:/i.test(text)) return serverSpec("openai", text, label);
  const [, kind, rest = ""] = /^(openai|sdapi|command):(.*)$/s.exec(text) ?? [];
  if (kind === "openai" || kind === "sdapi") return serverSpec(kind, rest.trim(), label);
  if (kind === "command")
    return { kind, name: `command:${rest.trim()}`, words: parseGeneratorCommand(rest, label) };
  throw refused(`${label} ${JSON.stringify(text)} is not a generator`, hintFor(text));
}

const FORMS =
  "Write openai, a URL such as http://gpubox:1234, sdapi:<url> or command:<command line>. More: imggen help generators";

/** An address that lacks only its scheme: `gpubox:1234`. */
function hintFor(text: string): string {
  const whole = `http://${text}`;
  return /^[a-z0-9.-]+:\d+(\/|$)/i.test(text) && URL.canParse(whole) ? `Did you mean ${whole}?` : FORMS;
}

function serverSpec(kind: "openai" | "sdapi", text: string, label: string): GeneratorSpec {
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

/** Whether a key may be sent there: not over an unencrypted network. */
export function mayCarryKey({ url }: { url: string }): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopbackHost(hostname);
}

function refused(message: string, hint = FORMS): UsageError {
  return new UsageError(`${message}.`, { hint });
}
