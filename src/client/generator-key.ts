import { AuthRequiredError } from "../api/api-errors.ts";
import { UsageError } from "../lib/error-types.ts";
import { keyFingerprint } from "../lib/fingerprint.ts";
import { shellWord } from "../lib/shell-word.ts";
import { action, phrase } from "../lib/wording.ts";
import { basicOrBearer, type GeneratorOptions } from "../providers/kind.ts";
import { type GeneratorSpec, isServerKind, KINDS, kindAtHome } from "../providers/kinds.ts";
import { mayCarryKey } from "../providers/spec.ts";
import { checkGeneratorKey, checkSecret } from "./account.ts";
import type { GeneratorSource, OwnGenerator } from "./generator-settings.ts";

/** The key for the generator in effect; null for none. @throws UsageError for one that cannot be sent */
export function keyInEffect(spec: GeneratorSpec, source: GeneratorSource): string | null {
  const key = source.settings.get("generatorKey");
  if (spec.kind === "command" || key === undefined || key.source === "config") return boundKey(spec, source);
  return checkGeneratorKey(key.value, key.label, takesLogin(spec));
}

/** A key that is for one origin alone: the one in its kind's own variable, or the one that was stored. */
export function boundKey(spec: GeneratorSpec, { settings, context }: GeneratorSource): string | null {
  if (spec.kind === "command") return null;
  const variable = kindAtHome(spec)?.keyVariables.find((name) => context.env[name]);
  if (variable) return checkSecret(context.env[variable] ?? "", variable);
  const { origin } = new URL(spec.url);
  const stored = settings.stored("generatorKey");
  const isMeant = stored !== undefined && settings.stored("generatorKeyOrigin")?.value === origin;
  return isMeant ? checkGeneratorKey(stored.value, stored.label, takesLogin(spec)) : null;
}

/** The key in the environment if it is the one of a task's account: it was sent to that address before. Null if it is not. */
export function keyOfAccount(
  spec: GeneratorSpec,
  keyId: string,
  { settings }: GeneratorSource,
): string | null {
  const key = settings.get("generatorKey");
  if (spec.kind === "command" || key === undefined || key.source === "config") return null;
  const checked = checkGeneratorKey(key.value, key.label, takesLogin(spec));
  return keyFingerprint(checked) === keyId ? checked : null;
}

/** Whether a generator's key may be `user:password`. */
export function takesLogin({ kind }: Pick<GeneratorSpec, "kind">): boolean {
  return isServerKind(kind) && KINDS[kind].keyHeaders === basicOrBearer;
}

export function withKey(
  spec: GeneratorSpec,
  options: Omit<GeneratorOptions, "key">,
  key: string | null,
): GeneratorOptions {
  if (spec.kind === "command") return { ...options, key: null };
  const made = spec.kind === "npm" ? { package: spec.version } : {};
  const isSecret = key !== null || Object.keys(options.headers).length > 0;
  if (isSecret && !mayCarryKey(spec))
    throw new UsageError("The generator's key is only sent to https:// addresses, and within this machine.", {
      hint: `Nothing was sent. Put https before ${new URL(spec.url).host}, or unset the key: a server that needs none works over http.`,
    });
  return { ...options, ...made, key };
}

/** Whether the generator refuses every request because no key is set. */
export function lacksKey({ spec, options: { key, headers } }: OwnGenerator): boolean {
  return kindAtHome(spec) !== null && key === null && Object.keys(headers).length === 0;
}

/** @throws AuthRequiredError where it lacks a key */
export function requireKey(generator: OwnGenerator): void {
  const { spec } = generator;
  const kind = kindAtHome(spec);
  if (kind === null || !lacksKey(generator)) return;
  const { title, keyVariables } = kind;
  throw new AuthRequiredError(`No key for ${title} is set.`, {
    hint: phrase`Nothing was sent. Set ${keyVariables.join(" or ")}, or store it: ${action("run", `login --generator ${shellWord(spec.name)}`)}`,
  });
}
