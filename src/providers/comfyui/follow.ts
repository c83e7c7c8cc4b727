import { fieldsOf } from "../../lib/json.ts";
import type { FollowHow } from "../provider.ts";
import type { ProviderServer } from "../provider-http.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { JobProgress } from "./progress.ts";

/**
 * Says how far a job is, by the server's messages to its client: the job's id is the client's too. Ends with the job, or
 * where the server has no messages. Never throws. @returns whether the job has ended
 */
export async function followJob(
  jobId: string,
  { signal, onProgress, onPreview }: FollowHow,
  http: ProviderServer,
  server: ComfyServer,
): Promise<boolean> {
  const over = new AbortController();
  try {
    const found = await server.find(jobId, signal);
    if (found === null) return false;
    if (found.place === "ended") return true;
    const progress = new JobProgress(jobId, Object.keys(fieldsOf(found.graph)));
    const until = AbortSignal.any([signal, over.signal]);
    const onText = (text: string) => {
      const share = progress.after(text);
      if (share !== null) onProgress(share);
      if (progress.isOver) over.abort();
    };
    const onBytes = onPreview && ((bytes: Buffer) => ifPreview(bytes, onPreview));
    await http.listen(`/ws?clientId=${encodeURIComponent(jobId)}`, until, { onText, onBytes });
    return progress.isOver;
  } catch {
    // The image is what counts.
    return false;
  }
}

/** The kind of a binary message with a preview of the image. */
const PREVIEW = 1;
/** Before the image: the kind of the message, and the type of the image, four bytes each. */
const HEAD_BYTES = 8;

function ifPreview(message: Buffer, onPreview: (image: Buffer) => void): void {
  if (message.length > HEAD_BYTES && message.readUInt32BE(0) === PREVIEW)
    onPreview(message.subarray(HEAD_BYTES));
}
