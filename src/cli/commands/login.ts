import type { Command } from "commander";
import { checkApiKey, checkBaseUrl, requireBaseUrl, withScheme } from "../../client/account.ts";
import { EffectiveSettings } from "../../client/effective-settings.ts";
import { findPricedModel, type GeneratorLogin, generatorLogin, verifyAccount } from "../../client/logins.ts";
import { LOGIN } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { getExposureWarning } from "../../client/settings-checks.ts";
import { UsageError } from "../../lib/error-types.ts";
import { redactAddress } from "../../lib/query-secret.ts";
import { maskKey } from "../../lib/redact.ts";
import type { Settings } from "../../store/settings-file.ts";
import type { SettingsStore } from "../../store/settings-store.ts";
import { canAsk, confirm, isForPerson, readSecret } from "../input/input-stream.ts";
import { addOptions } from "../session/add-options.ts";
import type { Answer, RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type LoginFlags = FlagsOf<typeof LOGIN>;

const EXAMPLES = `
Examples:
  $ imggen login --base-url https://example.com/api
  $ printenv IMGGEN_API_KEY | imggen login
  $ imggen login --generator https://images.example.com
  $ imggen login --profile work --base-url https://example.com/api
  $ imggen login --no-verify`;

export function register(command: Command, runWith: RunWith): void {
  command.description(
    "Store the API key and the base URL, or with --generator the key of your own generator.\n" +
      "Asks for the key without showing it, or reads one line from standard input.\n" +
      "There is no flag for the key, because other users can see a program's arguments.",
  );
  addOptions(command, LOGIN).addHelpText("after", EXAMPLES).action(runWith(runLogin));
}

async function runLogin(session: Session, options: LoginFlags): Promise<Answer> {
  const generator = session.settings.flag("generator");
  if (generator !== undefined) {
    if (options.baseUrl !== undefined)
      throw new UsageError(
        "--base-url and --generator cannot be combined: a login is for a service or for a generator.",
      );
    return loginGenerator(generator.value, options.verify, session);
  }
  const store = await session.settingsStore();
  // Reads the settings before any question, so that a damaged file is reported before the user types anything. Does not
  // require the profile, because login can create it.
  const stored = await store.read();
  if (stored.generator !== undefined)
    throw new UsageError(
      `This profile uses a generator (${redactAddress(stored.generator)}), not a service.`,
      {
        hint: `Nothing was stored. To use a service instead: ${session.inProfile("imggen config unset generator")}\nTo keep both, create a profile: add --profile <name>`,
      },
    );
  const settings = new EffectiveSettings(session.context.env, () => stored);
  const { baseUrl, isNew } = await findBaseUrl(options, settings, session);
  const apiKey = await askKey(baseUrl, session);
  const verified = options.verify && baseUrl !== null;
  if (verified) await verifyAccount({ baseUrl, apiKey }, session, session.context.signal);
  const changes = isNew && baseUrl !== null ? { baseUrl } : {};
  await storeKey({ apiKey, apiKeyBaseUrl: baseUrl ?? undefined, ...changes }, store, session);
  return {
    json: { ok: true, apiKey: maskKey(apiKey), baseUrl, verified, file: store.file },
    async show() {
      if (verified) await session.console.note(`Key accepted by ${new URL(baseUrl).host}.`);
      await session.console.note(`Stored ${maskKey(apiKey)} in ${store.file}`);
      await offerModel(stored, settings, store, session);
    },
  };
}

/** Stores a key, and warns if other users might be able to read the file. @throws SettingsError */
async function storeKey(
  changes: Parameters<SettingsStore["update"]>[0],
  store: SettingsStore,
  { console }: Session,
): Promise<void> {
  await store.update(changes);
  const exposureWarning = await getExposureWarning(store.file);
  if (exposureWarning !== null) await console.warn(exposureWarning);
}

/** Offers a model of documented cost, because a cap would reject the first image of any other model. */
async function offerModel(
  stored: Settings,
  settings: EffectiveSettings,
  store: SettingsStore,
  session: Session,
): Promise<void> {
  const model = settings.get("model")?.value;
  const suggestion = await findPricedModel(session, model, stored.quality);
  if (suggestion === null) return;
  const { name, id, quality, cost } = suggestion;
  const qualityText = quality === undefined ? "" : ` in ${quality}`;
  if (model === undefined && isForPerson(session)) {
    if (!(await confirm(`Use ${id}${qualityText} (${cost}) by default?`, session, true))) return;
    await store.update({ model: id, ...(quality !== undefined && { quality }) });
    return;
  }
  await session.console.note(`The cost of ${name} is not documented; ${id} costs ${cost}${qualityText}.`);
  const setCommand = (setting: string, value: string) =>
    session.inProfile(`imggen config set ${setting} ${value}`);
  await session.console.note([
    `  To make ${id} your default: ${setCommand("model", id)}`,
    ...(quality === undefined
      ? []
      : [`  To make ${quality} your default quality: ${setCommand("quality", quality)}`]),
  ]);
}

/** Returns the base URL for the check of the key; null if the key is not checked. @throws UsageError */
async function findBaseUrl(
  options: LoginFlags,
  settings: EffectiveSettings,
  session: Session,
): Promise<{ baseUrl: string | null; isNew: boolean }> {
  if (options.baseUrl !== undefined)
    return { baseUrl: await offerScheme(options.baseUrl, "--base-url", session), isNew: true };
  const setting = settings.get("baseUrl");
  if (setting) {
    const baseUrl = requireBaseUrl(setting);
    const change = session.inProfile("imggen login --base-url <url>");
    if (canAsk(session))
      await session.console.note(`Base URL: ${baseUrl} (${setting.label}). To change it: ${change}`);
    return { baseUrl, isNew: false };
  }
  if (!options.verify) return { baseUrl: null, isNew: false };
  const verification = canAsk(session) ? await askQuestion("Base URL of the service: ", session) : "";
  if (verification === "") return { baseUrl: requireBaseUrl(undefined), isNew: false };
  return { baseUrl: await offerScheme(verification, "The base URL", session), isNew: true };
}

/** @throws UsageError */
async function offerScheme(text: string, label: string, session: Session): Promise<string> {
  const fullUrl = withScheme(text);
  if (fullUrl === null || !canAsk(session)) return checkBaseUrl(text, label);
  const answer = await askQuestion(`Use ${fullUrl}? [Y/n] `, session);
  return checkBaseUrl(/^(y|yes)?$/i.test(answer) ? fullUrl : text, label);
}

async function askQuestion(question: string, { context }: Session): Promise<string> {
  const answer = (await context.ask(question)).trim();
  context.signal.throwIfAborted();
  return answer;
}

const MAX_ATTEMPTS = 3;

async function askKey(baseUrl: string | null, session: Session): Promise<string> {
  const { context, console } = session;
  const question = baseUrl === null ? "API key: " : `API key for ${new URL(baseUrl).host}: `;
  for (let attempt = 1; ; attempt++) {
    const key = await readSecret(question, context);
    if (key === "") throw new UsageError("No key was given.", { hint: "Nothing was stored." });
    try {
      return checkApiKey(key, "This");
    } catch (error) {
      if (!context.stdin.isTTY || attempt === MAX_ATTEMPTS || !(error instanceof UsageError)) throw error;
      await console.warn(`${error.message} Try again, or press Enter to stop.`);
    }
  }
}

/**
 * Stores the key of the user's generator, for use with the generator's origin only. Also stores the generator, unless
 * the profile has a service.
 * @param verify whether to check the key with the generator first
 * @throws AuthRequiredError if the key is refused, NetworkError if the generator is unreachable; nothing is stored then
 */
async function loginGenerator(specText: string, verify: boolean, session: Session): Promise<Answer> {
  const { console, context } = session;
  const store = await session.settingsStore();
  const stored = await store.read();
  const login = generatorLogin(specText, session);
  const { name, address, setting } = login;
  const key = await askGeneratorKey(login, session);
  const storesGenerator = stored.baseUrl === undefined;
  if (!storesGenerator && key === null)
    throw new UsageError("No key was given, and this profile uses a service.", {
      hint: "Nothing was stored. To use the generator without a key, add --generator to a command.",
    });
  const answer = verify && address !== null && (await login.verify(key, context.signal));
  if (typeof answer === "object") await console.warn(`The key could not be checked. ${answer.message}`);
  const verified = answer === true;
  const keySettings =
    key !== null && address !== null ? { generatorKey: key, generatorKeyOrigin: address.origin } : {};
  const changes: Settings = { ...keySettings, ...(storesGenerator && { generator: setting }) };
  await storeKey(changes, store, session);
  const shownKey = key === null ? null : maskKey(key);
  return {
    json: { ok: true, generator: name, generatorKey: shownKey, verified, file: store.file },
    async show() {
      if (verified) await console.note(`${key === null ? `${name} replied` : `Key accepted by ${name}`}.`);
      const storedText = [shownKey, storesGenerator ? name : null]
        .filter((each) => each !== null)
        .join(" and ");
      await console.note(`Stored ${storedText} in ${store.file}`);
      if (!storesGenerator)
        await console.note(
          `This profile uses ${redactAddress(stored.baseUrl ?? "")}. To use the generator, add --generator to a command.`,
        );
    },
  };
}

/** @returns null if the user enters no key @throws UsageError for a key that cannot be sent */
async function askGeneratorKey(
  { address, checkKey }: GeneratorLogin,
  { context }: Session,
): Promise<string | null> {
  if (address === null) return null;
  const key = await readSecret(`Key for ${address.host} (Enter for no key): `, context);
  return key === "" ? null : checkKey(key);
}
