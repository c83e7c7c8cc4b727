import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { InputStream } from "./input-stream.ts";

/**
 * The bytes of an input as they arrive, until a signal ends it. Every input is read through this.
 * @param open opens the input, or returns an open one
 * @param complaint the error message, without the reason
 * @throws UsageError if it cannot be read; the signal's reason after a signal
 */
export async function* inputChunks(
  open: () => Promise<InputStream>,
  complaint: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  let stop = () => {};
  try {
    const stream = await open();
    stop = () => stream.destroy();
    signal.addEventListener("abort", stop, { once: true });
    for await (const chunk of stream) yield Buffer.from(chunk);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`${complaint}: ${errorText(error)}.`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
}
