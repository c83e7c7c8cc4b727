import type { Command } from "commander";
import { AuthRequiredError, NetworkError, ServiceError } from "../../../api/api-errors.ts";
import { describeConnectionError } from "../../../api/connection-errors.ts";
import { proxiesFromEnvironment } from "../../../api/proxies.ts";
import { TransportError } from "../../../api/transport.ts";
import { checkApiKey, checkBaseUrl, requireBaseUrl, withScheme } from "../../../client/account.ts";
import { EffectiveSettings } from "../../../client/effective-settings.ts";
import { LOGIN } from "../../../client/options/command-table.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { shownAddress } from "../../../lib/query-secret.ts";
import { maskKey } from "../../../lib/redact.ts";
import { costRange, documentedCost, estimateCost } from "../../../models/cost.ts";
import { resolveModel } from "../../../models/find.ts";
import { DEFAULT_MODEL, MODELS, type Model } from "../../../models/matrix.ts";
import { describeForeign, probe, verdictOf } from "../../../providers/service/probe.ts";
import { canAsk, readSecret } from "../../input/input-stream.ts";
import { addOptions } from "../../session/add-options.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";

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

async function runLogin(session: Session, options: LoginFlags): Promise<number> {
  const generator = session.settings.flag("generator");
  if (generator !== undefined) {
    if (options.baseUrl !== undefined)
      throw new UsageError("--base-url is a service's, and --generator your own: give one of them.");
    const { loginGenerator } = await import("./login-generator.ts");
    return loginGenerator(generator.value, options.verify, session);
  }
  const store = await session.settingsStore();
  // A damaged settings file is reported before anything is typed. The profile need not be there yet.
  const stored = await store.read();
  if (stored.generator !== undefined)
    throw new UsageError(
      `This profile is for a generator (${shownAddress(stored.generator)}), not for a service.`,
      {
        hint: `Nothing was stored. To use a service instead: ${session.inProfile("imggen config unset generator")}\nTo keep both, make a profile: add --profile <name>`,
      },
    );
  const settings = new EffectiveSettings(session.context.env, () => stored);
  const { baseUrl, isNew } = await baseUrlOf(options, settings, session);
  const apiKey = await askKey(baseUrl, session);
  const verified = options.verify && baseUrl !== null;
  if (verified) {
    await verifyKey(baseUrl, apiKey, session);
    if (!session.options.json) await session.console.note(`Key accepted by ${new URL(baseUrl).host}.`);
  }
  const changes = isNew && baseUrl !== null ? { baseUrl } : {};
  await store.update({ apiKey, apiKeyBaseUrl: baseUrl ?? undefined, ...changes });
  if (session.options.json) {
    await session.console.json({ ok: true, apiKey: maskKey(apiKey), baseUrl, verified, file: store.file });
  } else {
    await session.console.note(`Stored ${maskKey(apiKey)} in ${store.file}`);
    await showNextStep(settings, session);
  }
  return 0;
}

/** The default model's cost is not documented: a first image under a cap would be refused. */
async function showNextStep(settings: EffectiveSettings, session: Session): Promise<void> {
  const name = settings.get("model")?.value ?? DEFAULT_MODEL;
  // What is wrong with the user's own file is no fault of the login.
  const matrix = await session.matrix().catch(() => MODELS);
  if (resolveModel(name, matrix)?.credits !== null) return;
  const next = matrix.find(({ credits, kinds }) => credits !== null && kinds?.includes("text-to-image"));
  if (next === undefined) return;
  const quality = cheapestQuality(next);
  const cost =
    quality === undefined ? costRange(next) : `${documentedCost(next, quality)} credits in ${quality}`;
  await session.console.note(`Next: the cost of ${name} is not documented; ${next.id} costs ${cost}.`);
  const set = (setting: string, value: string) => session.inProfile(`imggen config set ${setting} ${value}`);
  await session.console.note([
    `  To make it your default: ${set("model", next.id)}`,
    ...(quality === undefined ? [] : [`  and its quality: ${set("quality", quality)}`]),
  ]);
}

/** The quality to name in each request, because the price without one is an estimate; undefined if it is not. */
function cheapestQuality(model: Model): string | undefined {
  if (!estimateCost(model, undefined).estimate) return undefined;
  const { credits } = estimateCost(model, undefined);
  return model.qualities?.find((quality) => documentedCost(model, quality) === credits);
}

/** Where the key will be checked; null only where it is not. @throws UsageError */
async function baseUrlOf(
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
  const answer = canAsk(session) ? await answerTo("Base URL of the service: ", session) : "";
  if (answer === "") return { baseUrl: requireBaseUrl(undefined), isNew: false };
  return { baseUrl: await offerScheme(answer, "The base URL", session), isNew: true };
}

/** A base URL as given, with the scheme that it may lack if the user agrees. @throws UsageError */
async function offerScheme(text: string, label: string, session: Session): Promise<string> {
  const whole = withScheme(text);
  if (whole === null || !canAsk(session)) return checkBaseUrl(text, label);
  const answer = await answerTo(`Use ${whole}? [Y/n] `, session);
  return checkBaseUrl(/^(y|yes)?$/i.test(answer) ? whole : text, label);
}

async function answerTo(question: string, { context }: Session): Promise<string> {
  const answer = (await context.ask(question)).trim();
  context.signal.throwIfAborted();
  return answer;
}

/** How often a key is asked for at most: what was pasted may be something else. */
const ATTEMPTS = 3;

async function askKey(baseUrl: string | null, session: Session): Promise<string> {
  const { context, console } = session;
  const question = baseUrl === null ? "API key: " : `API key for ${new URL(baseUrl).host}: `;
  for (let attempt = 1; ; attempt++) {
    const key = await readSecret(question, context);
    if (key === "") throw new UsageError("No key was given.", { hint: "Nothing was stored." });
    try {
      return checkApiKey(key, "This");
    } catch (error) {
      if (!context.stdin.isTTY || attempt === ATTEMPTS || !(error instanceof UsageError)) throw error;
      await console.warn(`${error.message} Try again, or press Enter to stop.`);
    }
  }
}

const VERIFY_TIMEOUT_MS = 15_000;
const UNCHECKED = "To store the key unchecked, add --no-verify.";

/**
 * Asks the service whether it takes a key, which costs nothing.
 * @throws AuthRequiredError if not, ServiceError if something else answers, NetworkError if nothing does
 */
async function verifyKey(baseUrl: string, apiKey: string, session: Session): Promise<void> {
  const url = new URL(baseUrl);
  const { env, signal } = session.context;
  const options = { proxies: proxiesFromEnvironment(env), onExchange: session.onExchange };
  const reply = await probe({ options, baseUrl, apiKey, timeoutMs: VERIFY_TIMEOUT_MS, signal }).catch(
    (error) => {
      signal.throwIfAborted();
      if (!(error instanceof TransportError)) throw error;
      const next = `Nothing was stored. Check the base URL and try again. ${UNCHECKED}`;
      const { message, hint } = describeConnectionError(error, url, next);
      throw new NetworkError(message, { hint, cause: error });
    },
  );
  const verdict = verdictOf(reply);
  if (verdict === "accepted") return;
  if (verdict === "refused") {
    throw new AuthRequiredError("The service refused the API key.", {
      ...(reply.envelope.kind === "error" && { key: reply.envelope.key }),
      hint: "Nothing was stored. Check the key on the service's API key page.",
    });
  }
  const { message, hint } = describeForeign(reply, url);
  throw new ServiceError(message, { hint: `Nothing was stored. ${hint}\n${UNCHECKED}` });
}
