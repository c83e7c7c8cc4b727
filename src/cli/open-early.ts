import { EarlyConnection } from "../api/early-connection.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import { requireApiKey, requireBaseUrl } from "./account.ts";
import type { Session } from "./session.ts";

/** The configured service and key. @throws UsageError without a base URL, AuthRequiredError without a key */
export async function configuredService({ settings }: Session): Promise<{ baseUrl: string; apiKey: string }> {
  const baseUrl = requireBaseUrl(await settings.get("baseUrl"));
  return { baseUrl, apiKey: requireApiKey(await settings.get("apiKey")) };
}

/**
 * Begins to connect to the configured service, for a request that is checked. None where there is nothing to reach
 * (the sandbox), or a proxy makes the connections. @throws what `configuredService` throws
 */
export async function openEarly(session: Session): Promise<EarlyConnection | null> {
  if (session.options.sandbox) return null;
  const { baseUrl } = await configuredService(session);
  if (proxiesFromEnvironment(session.context.env)) return null;
  return new EarlyConnection(new URL(baseUrl));
}
