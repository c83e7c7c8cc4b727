import { ProviderError } from "../provider.ts";
import type { ComfyServer } from "./comfy-server.ts";

const ASK_MS = 15_000;

/** A job may begin while it is taken out of the queue. */
const MOST_TRIES = 3;

/**
 * Ends a job: out of the queue, or at the end of the node that it is at. Never throws.
 * @returns whether it has ended or will, without an image; null where the server does not answer
 */
export async function cancelJob(
  jobId: string,
  server: ComfyServer,
  signal: AbortSignal,
): Promise<boolean | null> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
  try {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const found = await server.find(jobId, limited);
      if (found === null) return tries > 0;
      if (found.place === "ended") return false;
      if (found.place === "running") {
        await server.interrupt(jobId, limited);
        return true;
      }
      await server.unqueue(jobId, limited);
    }
    return (await server.find(jobId, limited)) === null;
  } catch (error) {
    if (error instanceof ProviderError || limited.aborted) return null;
    throw error;
  }
}
