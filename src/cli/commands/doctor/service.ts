import { connectionErrorText, describeConnectionError, isUntrusted } from "../../../api/connection-errors.ts";
import { describeForeign, probe, verdictOf } from "../../../api/probe.ts";
import { proxiesFromEnvironment } from "../../../api/proxies.ts";
import { TransportError } from "../../../api/transport.ts";
import { apiKeyFor, requireApiKey, requireBaseUrl } from "../../../client/account.ts";
import type { OwnGenerator } from "../../../client/own-generator.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import { maskKey, withoutQuery } from "../../../lib/redact.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import type { Session } from "../../session/session.ts";
import {
  type Asked,
  type AskedGenerator,
  type CheckResult,
  failed,
  NotChecked,
  ok,
  skipped,
  warning,
} from "./check.ts";
import { checkLoopback, lookupIfAnswered, proxyInUse } from "./network.ts";
import { generatorOf, settingOf, storeKey } from "./settings.ts";

/** A third of a poll's: the user is waiting for the result. */
const TIMEOUT_MS = 5_000;

/**
 * Asks the service with the key, or without one if there is none that could be a key. It costs nothing.
 * @throws UsageError if the base URL or a proxy's is missing or wrong, NotChecked if the settings cannot be read
 */
export async function askService(session: Session): Promise<Asked> {
  if (session.isSandbox) return { kind: "sandbox" };
  const setting = settingOf("baseUrl", session);
  const own = await session.ownGenerator();
  if (own !== null) return askGenerator(own, session);
  const { env, signal } = session.context;
  const baseUrl = requireBaseUrl(setting);
  const label = setting?.label ?? "";
  const apiKey = await keyFor({ value: baseUrl, label }, session).catch((error: unknown) => {
    if (error instanceof ImggenError) return null;
    throw error;
  });
  const { onExchange } = session;
  const options = { proxies: proxiesFromEnvironment(env), lookup: lookupIfAnswered, onExchange };
  const url = new URL(baseUrl);
  try {
    const reply = await probe({ options, baseUrl, apiKey, timeoutMs: TIMEOUT_MS, signal });
    return { kind: "answered", url, label, ...reply };
  } catch (error) {
    if (error instanceof TransportError) return { kind: "unreachable", url, cause: error };
    throw error;
  }
}

/** The key that applies at a base URL. @throws as `apiKeyFor`, NotChecked if the settings cannot be read */
async function keyFor(baseUrl: { value: string; label: string }, session: Session): Promise<string> {
  return apiKeyFor(baseUrl, { get: (name) => settingOf(name, session) });
}

/** Whether the base URL leads to the service. */
export async function checkService(session: Session, asked: Promise<Asked>): Promise<CheckResult> {
  const answer = await asked;
  if (answer.kind === "sandbox") return checkLoopback();
  if (answer.kind === "generator") return checkReachable(answer);
  if (answer.kind === "unreachable") return unreachable(answer.url, answer.cause, session);
  const { url, label, status, elapsedMs } = answer;
  const facts = { baseUrl: url.href, elapsedMs: Math.round(elapsedMs) };
  const verdict = verdictOf(answer);
  if (verdict === "busy") return warning(`${url.host} answers HTTP ${status}.`, "Try again later.", facts);
  if (verdict !== "foreign")
    return ok(`${url.href} answers in ${formatDuration(elapsedMs)} (${label})`, facts);
  const { message, hint } = describeForeign(answer, url);
  return failed(message, `${hint} It is from ${label}.`, facts);
}

function unreachable(url: URL, cause: TransportError, session: Session): CheckResult {
  const facts = { baseUrl: url.href };
  const proxy = isUntrusted(cause) ? null : proxyInUse(url, session);
  if (proxy !== null)
    return failed(
      `The proxy ${proxy.url} (${proxy.variable}) leads nowhere: ${connectionErrorText(cause)}.`,
      `Set ${proxy.variable} to a proxy that works, or unset it.`,
      facts,
    );
  const next = "Check the network, the base URL and the proxy, if there is one.";
  const { message, hint } = describeConnectionError(cause, url, next);
  return failed(message, hint, facts);
}

/** Whether the service takes the key. The service refuses a bad one also where the request costs nothing. */
export async function checkKey(session: Session, asked: Promise<Asked>): Promise<CheckResult> {
  if (session.isSandbox) return ok("the sandbox's own", { key: null });
  const baseUrl = settingOf("baseUrl", session);
  const own = await generatorOf(session);
  const answer = await (own === null ? asked.catch(() => null) : asked);
  if (answer?.kind === "generator") return checkGeneratorKey(answer);
  const setting = settingOf("apiKey", session);
  const key = maskKey(requireApiKey(setting));
  const from = setting?.label ?? "";
  const source = setting?.source ?? "default";
  if (baseUrl) await keyFor(baseUrl, session);
  const verdict = answer?.kind === "answered" ? verdictOf(answer) : "busy";
  if (verdict === "busy" || verdict === "foreign")
    return skipped(`${key} (${from}), which the service could not be asked about`, { key, source });
  if (verdict === "accepted") return ok(`${key} (${from}), accepted by the service`, { key, source });
  return failed(
    `The service refused ${key} (${from}).`,
    source === "environment" ? `Set ${from} to a key that works, or unset it.` : storeKey(session),
    { key, source },
  );
}

/** Certificates, the day of a daily limit and the order of the ledger depend on the time. */
const MOST_SKEW_MS = 60_000;

/** This machine's clock, compared with the service's. */
export async function checkClock({ context }: Session, asked: Promise<Asked>): Promise<CheckResult> {
  const answer = await asked.catch(() => null);
  if (answer?.kind === "sandbox") throw new NotChecked("the embedded sandbox has this machine's clock");
  if (answer?.kind === "generator") throw new NotChecked("a generator is not asked for its time");
  if (answer?.kind !== "answered") throw new NotChecked("the service could not be asked for its time");
  if (answer.dateMs === null) throw new NotChecked("the service does not tell its time");
  // The Date header was set about halfway through the exchange, and has whole seconds.
  const aheadMs = Math.round(context.clock.now() - answer.elapsedMs / 2 - answer.dateMs - 500);
  const skewMs = Math.abs(aheadMs);
  if (skewMs <= MOST_SKEW_MS) return ok("agrees with the service's", { aheadMs });
  return warning(
    `This machine's clock is ${formatDuration(skewMs)} ${aheadMs > 0 ? "ahead of" : "behind"} the service's.`,
    "Set it: certificates, the daily limit and the history depend on it.",
    { aheadMs },
  );
}

/** Asks a generator for its models, which costs nothing. */
async function askGenerator(own: OwnGenerator, session: Session): Promise<AskedGenerator> {
  const { requireKey } = await import("../../../client/own-generator.ts");
  const { modelNames } = await import("../../../client/generator-terms.ts");
  let startMs: number | null = null;
  const elapsedMs = () => (startMs === null ? null : performance.now() - startMs);
  try {
    requireKey(own.spec, own.options);
    startMs = performance.now();
    const models = await modelNames(own, session.context);
    return { kind: "generator", own, models, error: null, elapsedMs: elapsedMs() };
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return { kind: "generator", own, models: null, error, elapsedMs: elapsedMs() };
  }
}

/** Whether the generator can be reached, and has the model that is set. */
function checkReachable(asked: AskedGenerator): CheckResult {
  const { own, models, error, elapsedMs } = asked;
  const { spec } = own;
  const name = withoutQuery(spec.name);
  const facts = { generator: name, paid: own.options.isPaid };
  const cost = own.options.isPaid ? "paid" : "free";
  if (spec.kind === "command") {
    if (error !== null) return failed(error.message, FIX_COMMAND, facts);
    return ok(`${name}, ${cost}`, facts);
  }
  if (elapsedMs === null) return skipped(`${name} is asked only with a key`, facts);
  if (error?.type === "network") return failed(error.message, "Start it, or fix its address.", facts);
  if (error?.type === "service_error")
    return warning(`It answers, but: ${error.message}`, LIST_MODELS, facts);
  const { model } = own.options;
  if (model !== null && models?.includes(model) === false)
    return warning(`It answers, and does not list the model ${model}.`, SEE_MODELS, facts);
  return ok(`${name} answers in ${formatDuration(elapsedMs)}, ${cost}${modelsText(models)}`, facts);
}

function modelsText(models: readonly string[] | null): string {
  if (models === null) return "";
  return models.length === 1 ? `, with the model ${models[0]}` : `, with ${models.length} models`;
}

const FIX_COMMAND = "Use the program's full path, and make it executable.";
const SEE_MODELS = "To see those that it has: imggen models";
const LIST_MODELS = "Some servers have no list of models. If it makes images, nothing is wrong.";

/** Whether the generator takes the key. */
function checkGeneratorKey({ own, error }: AskedGenerator): CheckResult {
  const { spec, options } = own;
  if (spec.kind === "command") return ok("none, for a command", { key: null });
  const key = options.key === null ? null : maskKey(options.key);
  const store = `imggen login --generator ${shellWord(spec.name)}`;
  if (error?.type === "auth_required" || error?.type === "insufficient_credits")
    return failed(error.message, `Store one that works: ${store}`, { key });
  const shown = key ?? "none";
  if (error !== null) return skipped(`${shown}; the generator could not be asked about it`, { key });
  return ok(key === null ? "none, and none is needed to ask for its models" : `${key}, accepted`, { key });
}
