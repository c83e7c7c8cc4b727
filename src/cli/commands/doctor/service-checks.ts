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
import { type Finding, failed, needed, news, ok, skipped, type Target, warning } from "./check.ts";
import { lookupIfAnswered, proxyInUse } from "./network.ts";
import { storeKey } from "./settings.ts";

/** What came of asking the service, or why nothing did. */
type Answer = ProbeReply | Error;

/** The service at a base URL, once it is asked. */
export async function askService(baseUrl: Effective | undefined, session: Session): Promise<Target> {
  const answer: Answer = await probeWithKey(baseUrl, session).catch((error) => error);
  return {
    service: () => checkService(baseUrl, answer, session),
    key: () => checkKey(baseUrl, answer, session),
    clock: () => checkClock(answer, session),
  };
}

/** A third of a poll's: the user is waiting for the result. */
const TIMEOUT_MS = 5_000;

/**
 * Asks the service with the key, or without one if there is none that may be sent there. It costs nothing.
 * @throws UsageError if the base URL or a proxy's is missing or wrong, TransportError without a reply
 */
async function probeWithKey(setting: Effective | undefined, session: Session): Promise<ProbeReply> {
  const { context, onExchange } = session;
  const { env, signal } = context;
  const baseUrl = requireBaseUrl(setting);
  const options = { proxies: proxiesFromEnvironment(env), lookup: lookupIfAnswered, onExchange };
  const apiKey = keyToSend(baseUrl, session);
  return probe({ options, baseUrl, apiKey, timeoutMs: TIMEOUT_MS, signal });
}

/** Null if there is none that may be sent there: the check of the key says why. */
function keyToSend(baseUrl: string, { settings }: Session): string | null {
  try {
    return apiKeyFor({ value: baseUrl, label: "" }, settings);
  } catch (error) {
    if (error instanceof ImggenError) return null;
    throw error;
  }
}

/** Whether the base URL leads to the service. */
function checkService(setting: Effective | undefined, answer: Answer, session: Session): Finding {
  const url = new URL(requireBaseUrl(setting));
  const label = setting?.label ?? "";
  if (answer instanceof TransportError) return unreachable(url, answer, session);
  if (answer instanceof Error) throw answer;
  const { status, elapsedMs } = answer;
  const facts = { baseUrl: url.href, elapsedMs: Math.round(elapsedMs) };
  const verdict = verdictOf(answer);
  if (verdict === "busy") return warning(`${url.host} answers HTTP ${status}.`, "Try again later.", facts);
  if (verdict !== "foreign")
    return news(`${url.href} answers in ${formatDuration(elapsedMs)} (${label})`, facts);
  const { message, hint } = describeForeign(answer, url);
  return failed(message, `${hint} It is from ${label}.`, facts);
}

function unreachable(url: URL, cause: TransportError, session: Session): Finding {
  const proxy = isUntrusted(cause) ? null : proxyInUse(url, session);
  const next = "Check the network, the base URL and the proxy, if there is one.";
  const { message, hint } =
    proxy === null
      ? describeConnectionError(cause, url, next)
      : {
          message: `The proxy ${proxy.url} (${proxy.variable}) does not work: ${connectionErrorText(cause)}.`,
          hint: `Set ${proxy.variable} to a proxy that works, or unset it.`,
        };
  return failed(message, hint, { baseUrl: url.href });
}

/** Whether the service takes the key. The service refuses a bad one also where the request costs nothing. */
async function checkKey(baseUrl: Effective | undefined, answer: Answer, session: Session): Promise<Finding> {
  const setting = await needed(() => session.settings.get("apiKey"));
  const key = maskKey(requireApiKey(setting));
  if (baseUrl) apiKeyFor(baseUrl, session.settings);
  const { label = "", source = "default" } = setting ?? {};
  const facts = { key, source };
  const verdict = answer instanceof Error ? "busy" : verdictOf(answer);
  if (verdict === "busy" || verdict === "foreign")
    return skipped(`${key} (${label}), which the service could not be asked about`, facts);
  if (verdict === "accepted") return news(`${key} (${label}), accepted by the service`, facts);
  const next =
    source === "environment" ? `Set ${label} to a key that works, or unset it.` : storeKey(session);
  return failed(`The service refused ${key} (${label}).`, next, facts);
}

const MOST_SKEW_MS = 60_000;

/** This machine's clock, compared with the service's; null if the service does not tell the time. */
function checkClock(answer: Answer, { context }: Session): Finding | null {
  if (answer instanceof Error || answer.dateMs === null) return null;
  // The Date header was set about halfway through the exchange, and has whole seconds.
  const aheadMs = Math.round(context.clock.now() - answer.elapsedMs / 2 - answer.dateMs - 500);
  const skewMs = Math.abs(aheadMs);
  if (skewMs <= MOST_SKEW_MS) return ok("agrees with the service's", { aheadMs });
  const skew = `${formatDuration(skewMs)} ${aheadMs > 0 ? "ahead of" : "behind"}`;
  const hint = "Set it: certificates, the daily limit and the history depend on it.";
  return warning(`This machine's clock is ${skew} the service's.`, hint, { aheadMs });
}

/** The embedded sandbox. It is not running, and to start it would create files. */
export const SANDBOX: Target = {
  service: () => ok("the embedded sandbox, which needs no network", { baseUrl: null }),
  key: () => ok("the sandbox's own", { key: null }),
  clock: () => null,
};
