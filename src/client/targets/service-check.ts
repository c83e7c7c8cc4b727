import { promises as dns, lookup } from "node:dns";
import { promises } from "node:fs";
import type { LookupFunction } from "node:net";
import { AuthRequiredError, NetworkError, ServiceError } from "../../api/api-errors.ts";
import { connectionErrorText, describeConnectionError, isUntrusted } from "../../api/connection-errors.ts";
import { type ProxyInUse, proxiesFromEnvironment, proxyFor } from "../../api/proxies.ts";
import { TransportError } from "../../api/transport.ts";
import { formatDuration } from "../../lib/duration.ts";
import { errorCode } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { maskKey, redactUrl } from "../../lib/redact.ts";
import { COMMAND_VOCABULARY, formatWording } from "../../lib/wording.ts";
import { describeOtherServer, judgeProbe, type ProbeReply, probe } from "../../providers/service/probe.ts";
import { apiKeyFor, requireApiKey, requireBaseUrl } from "../account.ts";
import { type Finding, failed, news, ok, orNotChecked, skipped, warning } from "../finding.ts";
import { addProfileFlag } from "../profiles.ts";
import type { TargetCheck, TargetCheckOptions, TargetSession } from "./target.ts";

type ProbeResult = ProbeReply | Error;

type Setting = { value: string; label: string };

type Account = { baseUrl: string; apiKey: string } | undefined;

/** Timeout of a check. It is a third of a poll's timeout, because the user is waiting. */
const TIMEOUT_MS = 5_000;

/** Probes a service at no cost. @throws NotChecked if the settings cannot be read */
export async function checkService(
  account: Account,
  session: TargetSession,
  { signal, timeoutMs = TIMEOUT_MS }: TargetCheckOptions,
): Promise<TargetCheck> {
  const { env } = session.context;
  const setting = account
    ? { value: account.baseUrl, label: "--base-url" }
    : await orNotChecked(() => session.settings.get("baseUrl"));
  const probeService = async () => {
    const baseUrl = requireBaseUrl(setting);
    const lookup = account === undefined ? { lookup: lookupIfAnswered } : {};
    const options = { proxies: proxiesFromEnvironment(env), onExchange: session.onExchange, ...lookup };
    const apiKey = account?.apiKey ?? keyToSend(baseUrl, session);
    return probe({ options, baseUrl, apiKey, timeoutMs, signal });
  };
  const answer: ProbeResult = await probeService().catch((error) => error);
  return {
    service: () => checkReachability(setting, answer, session),
    key: () => checkKey(setting, answer, session),
    clock: () => checkClock(answer, session),
    isVerified: !(answer instanceof Error) && judgeProbe(answer) === "accepted",
    failure: (hintStart, hintEnd) =>
      loginFailure(new URL(requireBaseUrl(setting)), answer, hintStart, hintEnd),
  };
}

/** Returns the key to send, or null if there is no valid key. The check of the key reports the reason. */
function keyToSend(baseUrl: string, { settings }: TargetSession): string | null {
  try {
    return apiKeyFor({ value: baseUrl, label: "" }, settings);
  } catch (error) {
    if (error instanceof ImggenError) return null;
    throw error;
  }
}

function checkReachability(
  setting: Setting | undefined,
  answer: ProbeResult,
  session: TargetSession,
): Finding {
  const url = new URL(requireBaseUrl(setting));
  const label = setting?.label ?? "";
  if (answer instanceof TransportError) return unreachable(url, answer, session);
  if (answer instanceof Error) throw answer;
  const { status, elapsedMs } = answer;
  const facts = { baseUrl: url.href, elapsedMs: Math.round(elapsedMs) };
  const verdict = judgeProbe(answer);
  if (verdict === "busy") return warning(`${url.host} answers HTTP ${status}.`, "Try again later.", facts);
  if (verdict !== "other server")
    return news(`${url.href} answers in ${formatDuration(elapsedMs)} (${label})`, facts);
  const { message, hint } = describeOtherServer(answer, url);
  return failed(message, formatWording([hint, `The base URL is from ${label}.`], COMMAND_VOCABULARY), facts);
}

function unreachable(url: URL, cause: TransportError, session: TargetSession): Finding {
  const proxy = isUntrusted(cause) ? null : proxyInUse(url, session);
  const advice = "Check the network, the base URL and the proxy, if there is one.";
  const { message, hint } =
    proxy === null
      ? describeConnectionError(cause, url, advice)
      : {
          message: `The proxy ${proxy.url} (${proxy.variable}) does not work: ${connectionErrorText(cause)}.`,
          hint: `Set ${proxy.variable} to a proxy that works, or unset it.`,
        };
  return failed(message, hint, { baseUrl: url.href });
}

/** Checks whether the service accepts the key, by a free poll of a task that does not exist. */
async function checkKey(
  baseUrl: Setting | undefined,
  answer: ProbeResult,
  session: TargetSession,
): Promise<Finding> {
  const setting = await orNotChecked(() => session.settings.get("apiKey"));
  const key = maskKey(requireApiKey(setting));
  if (baseUrl) apiKeyFor(baseUrl, session.settings);
  const { label = "", source = "default" } = setting ?? {};
  const facts = { key, source };
  const verdict = answer instanceof Error ? "busy" : judgeProbe(answer);
  if (verdict === "busy" || verdict === "other server")
    return skipped(`${key} (${label}), which could not be checked at the service`, facts);
  if (verdict === "accepted") return news(`${key} (${label}), accepted by the service`, facts);
  const storeHint = `Store a key that works: ${addProfileFlag("imggen login", session)}`;
  const advice = source === "environment" ? `Set ${label} to a key that works, or unset it.` : storeHint;
  return failed(`The service refused ${key} (${label}).`, advice, facts);
}

const MAX_SKEW_MS = 60_000;

/** Compares this machine's clock with the service's; null if the reply has no date. */
function checkClock(answer: ProbeResult, { context }: TargetSession): Finding | null {
  if (answer instanceof Error || answer.dateMs === null) return null;
  // The service sets the Date header in whole seconds, about halfway through the exchange, hence the half second.
  const aheadMs = Math.round(context.clock.now() - answer.elapsedMs / 2 - answer.dateMs - 500);
  const skewMs = Math.abs(aheadMs);
  if (skewMs <= MAX_SKEW_MS) return ok("agrees with the service's", { aheadMs });
  const skew = `${formatDuration(skewMs)} ${aheadMs > 0 ? "ahead of" : "behind"}`;
  const hint = "Set the clock, because certificates, the daily limit and the history depend on it.";
  return warning(`This machine's clock is ${skew} the service's.`, hint, { aheadMs });
}

function loginFailure(url: URL, answer: ProbeResult, hintStart: string, hintEnd: string): Error | null {
  if (answer instanceof TransportError) {
    const { message, hint } = describeConnectionError(
      answer,
      url,
      `${hintStart} Check the base URL and try again. ${hintEnd}`,
    );
    return new NetworkError(message, { hint, cause: answer });
  }
  if (answer instanceof Error) return answer;
  const verdict = judgeProbe(answer);
  if (verdict === "accepted") return null;
  if (verdict !== "refused") {
    const { message, hint } = describeOtherServer(answer, url);
    return new ServiceError(message, { hint: [hintStart, hint, `\n${hintEnd}`] });
  }
  return new AuthRequiredError("The service refused the API key.", {
    ...(answer.envelope.kind === "error" && { key: answer.envelope.key }),
    hint: `${hintStart} Check the key on the service's API key page.`,
  });
}

/** Returns the proxy for a URL, without its user name and password. */
export function proxyInUse(url: URL, { context }: TargetSession): ProxyInUse | null {
  const proxy = proxyFor(url, proxiesFromEnvironment(context.env));
  return proxy && { ...proxy, url: redactUrl(proxy.url) };
}

/** Timeout of a name server. The timeout of the check is longer, so that a name server without a reply is reported. */
const NAME_SERVER_MS = 3_000;

/** Queries the name server first, because the system's lookup cannot be aborted and would delay the exit. */
const lookupIfAnswered: LookupFunction = async (hostname, options, callback) => {
  if (await canResolve(hostname)) lookup(hostname, options, callback);
  else callback(Object.assign(new Error("no name server answers"), { code: "EAI_AGAIN" }), "");
};

async function canResolve(hostname: string): Promise<boolean> {
  const hosts = await promises.readFile("/etc/hosts", "utf8").catch(() => "");
  if (hosts.split(/\s+/).includes(hostname)) return true;
  const resolver = new dns.Resolver({ timeout: NAME_SERVER_MS, tries: 1 });
  const isAnswer = (error: unknown) => errorCode(error) !== "ETIMEOUT";
  return resolver.resolve4(hostname).then(() => true, isAnswer);
}
