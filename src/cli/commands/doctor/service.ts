import { createServer } from "node:net";
import { connectionErrorText, describeConnectionError, isUntrusted } from "../../../api/connection-errors.ts";
import { describeForeign, verdictOf } from "../../../api/probe.ts";
import { apiKeyFor, requireApiKey } from "../../../client/account.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { errorText } from "../../../lib/error-text.ts";
import { maskKey } from "../../../lib/redact.ts";
import {
  type Asked,
  type CheckResult,
  type CheckSpec,
  failed,
  NotChecked,
  ok,
  skipped,
  warning,
} from "./check.ts";
import { proxyInUse } from "./network.ts";
import { readableSettings, settingOf, storeKey } from "./settings.ts";

type Answered = Extract<Asked, { kind: "answered" }>;

/** Whether the base URL leads to the service. */
export async function checkService({ session, asked }: CheckSpec): Promise<CheckResult> {
  const answer = await asked();
  if (answer.kind === "sandbox") return checkLoopback();
  const facts = { baseUrl: answer.url.href };
  if (answer.kind === "unreachable") {
    const proxy = isUntrusted(answer.cause) ? null : proxyInUse(answer.url, session);
    if (proxy !== null)
      return failed(
        `The proxy ${proxy.url} (${proxy.variable}) leads nowhere: ${connectionErrorText(answer.cause)}.`,
        `Set ${proxy.variable} to a proxy that works, or unset it.`,
        facts,
      );
    const next = "Check the network, the base URL and the proxy, if there is one.";
    const { message, hint } = describeConnectionError(answer.cause, answer.url, next);
    return failed(message, hint, facts);
  }
  return ofAnswer(answer, { ...facts, elapsedMs: Math.round(answer.elapsedMs) });
}

function ofAnswer(answer: Answered, facts: { baseUrl: string; elapsedMs: number }): CheckResult {
  const { url, label, status, elapsedMs } = answer;
  const verdict = verdictOf(answer);
  if (verdict === "busy") return warning(`${url.host} answers HTTP ${status}.`, "Try again later.", facts);
  if (verdict !== "foreign")
    return ok(`${url.href} answers in ${formatDuration(elapsedMs)} (${label})`, facts);
  const { message, hint } = describeForeign(answer, url);
  return failed(message, `${hint} It is from ${label}.`, facts);
}

/** The embedded sandbox needs a port of this machine. */
async function checkLoopback(): Promise<CheckResult> {
  try {
    await new Promise<void>((resolve, reject) => {
      const server = createServer().once("error", reject);
      server.listen(0, "127.0.0.1", () => server.close(() => resolve()));
    });
    return ok("the embedded sandbox, which needs no network", { baseUrl: null });
  } catch (error) {
    return failed(
      `The embedded sandbox cannot open a port on 127.0.0.1: ${errorText(error)}.`,
      "Allow imggen to listen on the loopback address.",
    );
  }
}

/** Whether the service takes the key. The service refuses a bad one also where the request costs nothing. */
export async function checkKey({ session, asked }: CheckSpec): Promise<CheckResult> {
  if (session.options.sandbox) return ok("the sandbox's own", { key: null });
  const setting = await settingOf("apiKey", session);
  const key = maskKey(requireApiKey(setting));
  const from = setting?.label ?? "";
  const facts = { key, source: setting?.source ?? "default" };
  const baseUrl = await settingOf("baseUrl", session);
  if (baseUrl) await apiKeyFor(baseUrl, readableSettings(session));
  const answer = await asked().catch(() => null);
  const verdict = answer?.kind === "answered" ? verdictOf(answer) : "busy";
  if (verdict === "busy" || verdict === "foreign")
    return skipped(`${key} (${from}), which the service could not be asked about`, facts);
  if (verdict === "accepted") return ok(`${key} (${from}), accepted by the service`, facts);
  const variable = setting?.source === "environment";
  return failed(
    `The service refused ${key} (${from}).`,
    variable ? `Set ${from} to a key that works, or unset it.` : storeKey(session),
    facts,
  );
}

/** Certificates, the day of a daily limit and the order of the ledger depend on the time. */
const MOST_SKEW_MS = 60_000;

/** This machine's clock, compared with the service's. */
export async function checkClock({ session, asked }: CheckSpec): Promise<CheckResult> {
  const answer = await asked().catch(() => null);
  if (answer?.kind === "sandbox") throw new NotChecked("the embedded sandbox has this machine's clock");
  if (answer?.kind !== "answered") throw new NotChecked("the service could not be asked for its time");
  if (answer.dateMs === null) throw new NotChecked("the service does not tell its time");
  // The Date header was set about halfway through the exchange, and has whole seconds.
  const aheadMs = Math.round(session.context.clock.now() - answer.elapsedMs / 2 - answer.dateMs - 500);
  const facts = { aheadMs };
  const skew = formatDuration(Math.abs(aheadMs));
  if (Math.abs(aheadMs) <= MOST_SKEW_MS) return ok("agrees with the service's", facts);
  return warning(
    `This machine's clock is ${skew} ${aheadMs > 0 ? "ahead of" : "behind"} the service's.`,
    "Set it: certificates, the daily limit and the history depend on it.",
    facts,
  );
}
