import { UsageError } from "../../lib/error-types.ts";
import { resolveModel } from "../../models/find.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { Session } from "../session/session.ts";

/**
 * Standard output carries the bytes of one image, and nothing else.
 * @param label what asked for it: the flag, or the setting
 * @throws UsageError
 */
export async function requireOneImageOut(
  { request }: CheckedRequest,
  flags: { wait: boolean; sidecar?: boolean },
  session: Session,
  label: string,
): Promise<void> {
  const { options, context } = session;
  const refuse = (why: string, hint?: string): never => {
    throw new UsageError(`${label} - ${why}.`, { hint });
  };
  if (options.json) refuse("and --json both need standard output");
  if (!flags.wait) refuse("needs the image, and --no-wait does not wait for it");
  if (flags.sidecar) refuse("has no place for a sidecar");
  if (context.stdout.isTTY) refuse("would write an image's bytes to the terminal", "Redirect it to a file.");
  const most = request.maxImages ?? resolveModel(request.model, await session.matrix())?.maxImages ?? 1;
  if (most > 1) refuse("takes one image", "Add --max-images 1, or choose a folder.");
}
