import { describeConnectionError } from "../../../api/connection-errors.ts";
import { AuthRequiredError, NetworkError, ServiceError } from "../../../api/errors.ts";
import { describeForeign, probe, verdictOf } from "../../../api/probe.ts";
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
  const { env, signal } = session.context;
  const options = { proxies: proxiesFromEnvironment(env), onExchange: session.onExchange };
  const reply = await probe({ options, baseUrl, apiKey, timeoutMs: TIMEOUT_MS, signal }).catch((error) => {
    signal.throwIfAborted();
    throw error instanceof TransportError ? unreachable(url, error) : error;
  });
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

function unreachable(url: URL, cause: TransportError): NetworkError {
  const next = `Nothing was stored. Check the base URL and try again. ${UNCHECKED}`;
  const { message, hint } = describeConnectionError(cause, url, next);
  return new NetworkError(message, { hint, cause });
}
