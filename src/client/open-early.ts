import { EarlyConnection } from "../api/connect.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import { configuredService } from "./account.ts";
import type { ClientSession } from "./session.ts";

/**
 * Begins to connect to the configured service, for a request that is checked. None where there is nothing to reach
 * (the sandbox, the user's own generator), or a proxy makes the connections. @throws what `configuredService` throws
 */
export async function openEarly({
  settings,
  context,
  isSandbox,
}: Pick<ClientSession, "settings" | "context" | "isSandbox">): Promise<EarlyConnection | null> {
  if (isSandbox || settings.generator() !== undefined) return null;
  const { baseUrl } = await configuredService({ settings });
  if (proxiesFromEnvironment(context.env)) return null;
  return new EarlyConnection(new URL(baseUrl));
}
