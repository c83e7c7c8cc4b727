import { readReferenceFile } from "../core/references/reference-file.ts";
import { ReferenceImages, type RequestReferences } from "../core/references/reference-images.ts";
import { parseUploadCommand } from "../core/references/upload-command.ts";
import { isLocalFile } from "../models/rules/images.ts";
import { FLAG_LABELS } from "../models/rules/rule.ts";
import { UploadCache } from "../store/uploads.ts";
import type { ClientSession } from "./client-session.ts";
import type { FlagsOf } from "./options/option.ts";
import type { SUBMIT } from "./options/request-table.ts";
import { copiesForGenerator } from "./targets/target-in-effect.ts";

/**
 * Reads reference files. Without an upload command, paths are sent unchanged, which only `--no-validate` allows.
 * @throws UsageError if a file or the upload command cannot be used
 */
export async function openReferences(
  images: readonly string[],
  { checkImages = false, uploadCache }: Pick<FlagsOf<typeof SUBMIT>, "checkImages" | "uploadCache">,
  session: ClientSession,
): Promise<{ references: RequestReferences; warnings: string[] }> {
  const { settings, context, folders } = session;
  const label = FLAG_LABELS.image;
  const copies = await copiesForGenerator(session, label, { checksUrls: checkImages });
  if (copies !== null) return { references: copies, warnings: [] };
  const setting = settings.get("uploadCommand");
  const command = setting === undefined ? null : parseUploadCommand(setting.value, setting.label);
  const names = command === null ? [] : [...new Set(images.filter(isLocalFile))];
  const files = await Promise.all(names.map((name) => readReferenceFile(name, label, context.resolvePath)));
  const references = new ReferenceImages({
    files,
    command,
    cache: new UploadCache(folders.state),
    usesCache: uploadCache,
    checksUrls: checkImages,
    label,
    env: context.env,
  });
  return { references, warnings: files.flatMap(({ warning }) => warning ?? []) };
}
