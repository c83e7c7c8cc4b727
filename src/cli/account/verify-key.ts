import { HttpClient } from "../../api/client.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { NetworkError } from "../../api/errors.ts";
import { NO_SUCH_TASK } from "../../api/probe.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import { HttpImageService, type PollReply } from "../../api/service.ts";
import type { Session } from "../app/session.ts";
import { traceOf } from "../output/trace.ts";

/** What the service answers when asked for a task that does not exist. @throws NetworkError without any answer */
export async function pollForNothing(baseUrl: string, apiKey: string, session: Session): Promise<PollReply> {
  const { env, clock, signal } = session.context;
  const http = new HttpClient({ proxies: proxiesFromEnvironment(env), onExchange: traceOf(session) });
  try {
    const answer = await new HttpImageService({ http, clock, baseUrl, apiKey }).poll(
      NO_SUCH_TASK,
      undefined,
      signal,
    );
    signal.throwIfAborted();
    if (answer.outcome !== "retry" || answer.connectionError === null) return answer;
    const next = "Nothing was stored. Try again, or store the key unchecked with --no-verify.";
    const { message, hint } = describeConnectionError(answer.connectionError, new URL(baseUrl), next);
    throw new NetworkError(message, { hint, cause: answer.connectionError });
  } finally {
    await http.close();
  }
}
