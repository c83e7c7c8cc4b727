import { EarlyConnection } from "../../api/early-connection.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import { configuredService } from "../../client/account.ts";
import type { Session } from "../app/session.ts";

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
