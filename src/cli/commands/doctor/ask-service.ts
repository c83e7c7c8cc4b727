import { HttpClient } from "../../../api/client.ts";
import { probe } from "../../../api/probe.ts";
import { proxiesFromEnvironment } from "../../../api/proxies.ts";
import { TransportError } from "../../../api/transport.ts";
import { apiKeyFor, requireBaseUrl } from "../../../client/account.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import type { Session } from "../../app/session.ts";
import { traceOf } from "../../output/trace.ts";
import type { Asked } from "./check.ts";
import { lookupIfAnswered } from "./lookup.ts";
import { readableSettings, settingOf } from "./settings.ts";

/** A third of a poll's: the user is waiting for the result. */
const TIMEOUT_MS = 5_000;

/**
 * Asks the service with the key, or without one if there is none that could be a key. It costs nothing.
 * @throws UsageError if the base URL or a proxy's is missing or wrong, NotChecked if the settings cannot be read
 */
export async function askService(session: Session): Promise<Asked> {
  if (session.options.sandbox) return { kind: "sandbox" };
  const { env, signal } = session.context;
  const setting = await settingOf("baseUrl", session);
  const baseUrl = requireBaseUrl(setting);
  const apiKey = await usableKey({ value: baseUrl, label: setting?.label ?? "" }, session);
  const proxies = proxiesFromEnvironment(env);
  const http = new HttpClient({ proxies, lookup: lookupIfAnswered, onExchange: traceOf(session) });
  const url = new URL(baseUrl);
  try {
    const reply = await probe({ http, baseUrl, apiKey, timeoutMs: TIMEOUT_MS, signal });
    return { kind: "answered", url, label: setting?.label ?? "", ...reply };
  } catch (error) {
    if (error instanceof TransportError) return { kind: "unreachable", url, cause: error };
    throw error;
  } finally {
    await http.close();
  }
}

async function usableKey(
  baseUrl: { value: string; label: string },
  session: Session,
): Promise<string | null> {
  try {
    return await apiKeyFor(baseUrl, readableSettings(session));
  } catch (error) {
    if (error instanceof ImggenError) return null;
    throw error;
  }
}
