import type { Clock } from "../../lib/clock.ts";
import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import type { JobDeps } from "../generator.ts";
import type { GeneratorServer } from "../http.ts";

const EVERY_MS = 1_000;

/** Without the picture as it is so far, which the server would have to encode. */
const PROGRESS = "/sdapi/v1/progress?skip_current_image=true";

/**
 * Asks the server how far it is, every second until the signal. A server that does not say is not asked again. Never
 * throws.
 */
export async function followProgress(
  server: Pick<GeneratorServer, "get">,
  clock: Pick<Clock, "sleep">,
  { signal, onProgress }: JobDeps,
): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(EVERY_MS, signal);
      const { status, body } = await server.get(PROGRESS, signal);
      const { progress } = fieldsOf(jsonOrNull(body));
      if (status !== 200 || typeof progress !== "number") return;
      // It says 0 before it has begun, and while it loads a model.
      if (progress > 0 && progress <= 1) onProgress(progress);
    }
  } catch {
    // The image is what counts.
  }
}
