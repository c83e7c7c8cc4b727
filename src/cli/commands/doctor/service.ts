import { connectionErrorText, describeConnectionError, isUntrusted } from "../../../api/connection-errors.ts";
import { proxiesFromEnvironment } from "../../../api/proxies.ts";
import { TransportError } from "../../../api/transport.ts";
import { apiKeyFor, requireApiKey, requireBaseUrl } from "../../../client/account.ts";
import type { Effective } from "../../../client/effective-settings.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import { maskKey } from "../../../lib/redact.ts";
import { describeForeign, type ProbeReply, probe, verdictOf } from "../../../providers/service/probe.ts";
import type { Session } from "../../session/session.ts";
import { type CheckResult, failed, NotChecked, news, ok, skipped, type Target, warning } from "./check.ts";
import { lookupIfAnswered, proxyInUse } from "./network.ts";
import { settingOf, storeKey } from "./settings.ts";

/** The service at a base URL. It is asked at once. */
export function askService(baseUrl: Effective | undefined, session: Session): Target {
  const reply = probeWithKey(baseUrl, session);
  // The checks report it.
  reply.catch(() => {});
  return {
    service: () => checkService(baseUrl, reply, session),
    key: async () => checkKey(baseUrl, await reply.catch(() => null), session),
    clock: async () => checkClock(await reply.catch(unknownTime), session),
  };
}

export function unknownTime(): never {
  throw new NotChecked("the service could not be asked for its time");
}

/** A third of a poll's: the user is waiting for the result. */
const TIMEOUT_MS = 5_000;

/**
 * Asks the service with the key, or without one if there is none that could be a key. It costs nothing.
 * @throws UsageError if the base URL or a proxy's is missing or wrong, NotChecked if the settings cannot be read,
 *   TransportError without a reply
 */
async function probeWithKey(setting: Effective | undefined, session: Session): Promise<ProbeReply> {
  const { context, onExchange } = session;
  const { env, signal } = context;
  const baseUrl = requireBaseUrl(setting);
  const apiKey = await keyToSend(baseUrl, session);
  const options = { proxies: proxiesFromEnvironment(env), lookup: lookupIfAnswered, onExchange };
  return probe({ options, baseUrl, apiKey, timeoutMs: TIMEOUT_MS, signal });
}

/** null if there is none that may be sent there: the check of the key says why. */
async function keyToSend(baseUrl: string, session: Session): Promise<string | null> {
  await settingOf("apiKey", session);
  try {
    return apiKeyFor({ value: baseUrl, label: "" }, session.settings);
  } catch (error) {
    if (error instanceof ImggenError) return null;
    throw error;
  }
}

/** Whether the base URL leads to the service. */
async function checkService(
  setting: Effective | undefined,
  reply: Promise<ProbeReply>,
  session: Session,
): Promise<CheckResult> {
  const url = new URL(requireBaseUrl(setting));
  const label = setting?.label ?? "";
  try {
    const answer = await reply;
    const { status, elapsedMs } = answer;
    const facts = { baseUrl: url.href, elapsedMs: Math.round(elapsedMs) };
    const verdict = verdictOf(answer);
    if (verdict === "busy") return warning(`${url.host} answers HTTP ${status}.`, "Try again later.", facts);
    if (verdict !== "foreign")
      return news(`${url.href} answers in ${formatDuration(elapsedMs)} (${label})`, facts);
    const { message, hint } = describeForeign(answer, url);
    return failed(message, `${hint} It is from ${label}.`, facts);
  } catch (error) {
    if (error instanceof TransportError) return unreachable(url, error, session);
    throw error;
  }
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
async function checkKey(
  baseUrl: Effective | undefined,
  reply: ProbeReply | null,
  session: Session,
): Promise<CheckResult> {
  const setting = await settingOf("apiKey", session);
  const key = maskKey(requireApiKey(setting));
  const from = setting?.label ?? "";
  const source = setting?.source ?? "default";
  if (baseUrl) apiKeyFor(baseUrl, session.settings);
  const verdict = reply === null ? "busy" : verdictOf(reply);
  if (verdict === "busy" || verdict === "foreign")
    return skipped(`${key} (${from}), which the service could not be asked about`, { key, source });
  if (verdict === "accepted") return news(`${key} (${from}), accepted by the service`, { key, source });
  return failed(
    `The service refused ${key} (${from}).`,
    source === "environment" ? `Set ${from} to a key that works, or unset it.` : storeKey(session),
    { key, source },
  );
}

/** Certificates, the day of a daily limit and the order of the ledger depend on the time. */
const MOST_SKEW_MS = 60_000;

/** This machine's clock, compared with the service's. */
function checkClock({ dateMs, elapsedMs }: ProbeReply, { context }: Session): CheckResult {
  if (dateMs === null) return skipped("the service does not tell its time");
  // The Date header was set about halfway through the exchange, and has whole seconds.
  const aheadMs = Math.round(context.clock.now() - elapsedMs / 2 - dateMs - 500);
  const skewMs = Math.abs(aheadMs);
  if (skewMs <= MOST_SKEW_MS) return ok("agrees with the service's", { aheadMs });
  return warning(
    `This machine's clock is ${formatDuration(skewMs)} ${aheadMs > 0 ? "ahead of" : "behind"} the service's.`,
    "Set it: certificates, the daily limit and the history depend on it.",
    { aheadMs },
  );
}
