import type { ReferenceImages } from "../../core/references/reference-images.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { Session } from "../app/session.ts";
import { creditsText } from "./text.ts";

/** Shows a request as it would be sent, its cost, and the files that would be uploaded for it. Uploads nothing. */
export async function showDryRun(
  checked: CheckedRequest,
  references: ReferenceImages | null,
  { checkImages }: { checkImages?: boolean },
  session: Session,
): Promise<number> {
  const { credits, warnings } = checked;
  const plan = await references?.plan(checked.request, session.context.clock.now());
  const { request, uploads } = plan ?? { request: checked.request, uploads: [] };
  if (checkImages) await session.console.warn("--check-images was skipped: --dry-run opens no connection.");
  if (session.options.json) {
    const said = warnings.length > 0 ? { warnings } : {};
    const files = uploads.map(({ path: file, bytes, sha256 }) => ({ file, bytes, sha256 }));
    const uploading = files.length > 0 ? { uploads: files } : {};
    await session.json({ ok: true, dryRun: true, request, credits, ...uploading, ...said });
    return 0;
  }
  const body = JSON.stringify(request, null, 2).split("\n");
  await session.console.result([
    "POST /generate-image",
    ...body,
    ...uploads.map(({ given }) => `${given} would be uploaded first, and its URL sent`),
    `${creditsText(credits)}, nothing was sent`,
  ]);
  return 0;
}
