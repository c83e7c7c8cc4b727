import { ServiceError } from "../../../api/api-errors.ts";
import { checkGeneratorKey } from "../../../client/account.ts";
import { takesLogin } from "../../../client/generator-key.ts";
import { generatorNamed, knownSpec } from "../../../client/own-generator.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { shownAddress } from "../../../lib/query-secret.ts";
import { maskKey } from "../../../lib/redact.ts";
import type { GeneratorSpec } from "../../../providers/kinds.ts";
import { mayCarryKey, storedSpec } from "../../../providers/spec.ts";
import type { Settings } from "../../../store/settings-file.ts";
import { readSecret } from "../../input/input-stream.ts";
import type { Session } from "../../session/session.ts";

/**
 * Stores the key of the user's own generator, bound to its origin; and the generator, where the profile has no service.
 * @param specText as `--generator` has it
 * @param verify whether the generator is asked about the key first
 * @throws AuthRequiredError if it refuses the key, NetworkError if it cannot be reached; nothing is stored then
 */
export async function loginGenerator(specText: string, verify: boolean, session: Session): Promise<number> {
  const store = await session.settingsStore();
  const stored = await store.read();
  const spec = knownSpec(specText, "--generator", session);
  const origin = spec.kind === "command" ? null : new URL(spec.url).origin;
  const key = spec.kind === "command" ? null : await askKey(spec, session);
  const isUsed = stored.baseUrl === undefined;
  if (!isUsed && key === null)
    throw new UsageError("No key was given, and this profile is for a service.", {
      hint: "Nothing was stored. To use the generator without a key, add --generator to a command.",
    });
  const verified = verify && origin !== null && (await isAccepted(spec, key, session));
  const bound = key !== null && origin !== null ? { generatorKey: key, generatorKeyOrigin: origin } : {};
  const changes: Settings = { ...bound, ...(isUsed && { generator: storedSpec(spec) }) };
  await store.update(changes);
  const shownKey = key === null ? null : maskKey(key);
  if (session.options.json) {
    const { file } = store;
    await session.console.json({ ok: true, generator: spec.name, generatorKey: shownKey, verified, file });
    return 0;
  }
  if (verified) await session.console.note(`${key === null ? "It answers" : "Key accepted"}.`);
  const what = [shownKey, isUsed ? spec.name : null].filter((each) => each !== null).join(" and ");
  await session.console.note(`Stored ${what} in ${store.file}`);
  if (!isUsed)
    await session.console.note(
      `This profile is for ${shownAddress(stored.baseUrl ?? "")}: to use the generator, add --generator.`,
    );
  return 0;
}

/** @returns null where none is needed @throws UsageError for one that cannot be sent */
async function askKey(
  server: Exclude<GeneratorSpec, { kind: "command" }>,
  { context }: Session,
): Promise<string | null> {
  const key = await readSecret(`Key for ${new URL(server.url).host}, empty for none: `, context);
  if (key === "") return null;
  if (!mayCarryKey(server))
    throw new UsageError("A key is only sent to https:// addresses, and within this machine.", {
      hint: "Nothing was stored. A server that needs no key works over http.",
    });
  return checkGeneratorKey(key, "This key", takesLogin(server));
}

/** Asks for the names of the models, which costs nothing. @returns whether they came */
async function isAccepted(spec: GeneratorSpec, key: string | null, session: Session): Promise<boolean> {
  const { modelNames } = await import("../../../client/generator-terms.ts");
  const { options } = generatorNamed(storedSpec(spec), session);
  try {
    return (await modelNames({ spec, options: { ...options, key } }, session)) !== null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    await session.console.warn(`The key could not be checked. ${error.message}`);
    return false;
  }
}
