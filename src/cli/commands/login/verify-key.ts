import { HttpClient } from "../../../api/client.ts";
import { describeConnectionError } from "../../../api/connection-errors.ts";
import { AuthRequiredError, NetworkError, ServiceError } from "../../../api/errors.ts";
import { describeForeign, type ProbeReply, probe, verdictOf } from "../../../api/probe.ts";
import { proxiesFromEnvironment } from "../../../api/proxies.ts";
import { TransportError } from "../../../api/transport.ts";
import type { Session } from "../../session/session.ts";

const TIMEOUT_MS = 15_000;
const UNCHECKED = "To store the key unchecked, add --no-verify.";

/**
 * Asks the service whether it takes a key, which costs nothing.
 * @throws AuthRequiredError if not, ServiceError if something else answers, NetworkError if nothing does
 */
export async function verifyKey(baseUrl: string, apiKey: string, session: Session): Promise<void> {
  const url = new URL(baseUrl);
  const reply = await replyTo(url, { baseUrl, apiKey }, session);
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

async function replyTo(
  url: URL,
  account: { baseUrl: string; apiKey: string },
  session: Session,
): Promise<ProbeReply> {
  const { env, signal } = session.context;
  const http = new HttpClient({ proxies: proxiesFromEnvironment(env), onExchange: session.onExchange });
  try {
    return await probe({ http, ...account, timeoutMs: TIMEOUT_MS, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TransportError)) throw error;
    const next = `Nothing was stored. Check the base URL and try again. ${UNCHECKED}`;
    const { message, hint } = describeConnectionError(error, url, next);
    throw new NetworkError(message, { hint, cause: error });
  } finally {
    await http.close();
  }
}
