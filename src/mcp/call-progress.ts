import type { ServerContext } from "@modelcontextprotocol/server";
import { eventText } from "../client/run-text.ts";
import type { OnTaskProgress } from "../core/engine/events.ts";
import type { Clock } from "../lib/clock.ts";

/** Many clients give a call up that has said nothing for a minute. */
const HEARTBEAT_MS = 10_000;

export interface CallProgress {
  onProgress: OnTaskProgress;
  stop(): void;
}

/** Tells the client how a call is getting on, where it has asked for that. */
export function progressOf(
  { _meta, notify }: Pick<ServerContext["mcpReq"], "_meta" | "notify">,
  clock: Clock,
): CallProgress {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { onProgress() {}, stop() {} };
  let progress = 0;
  /** Before the first event there is nothing to be said but that the call is under way. */
  let said: { message?: string } = {};
  const tell = () => {
    progress += 1;
    const params = { progressToken, progress, ...said };
    // A client that has gone away is noticed elsewhere.
    notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const over = new AbortController();
  void repeat(HEARTBEAT_MS, tell, clock, over.signal);
  return {
    onProgress(event) {
      said = { message: eventText(event) };
      tell();
    },
    stop: () => over.abort(),
  };
}

async function repeat(everyMs: number, tell: () => void, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(everyMs, signal);
      tell();
    }
  } catch {
    // The call is over.
  }
}
