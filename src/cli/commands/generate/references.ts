import { readReferenceFile } from "../../../core/references/reference-file.ts";
import { ReferenceImages } from "../../../core/references/reference-images.ts";
import { parseUploadCommand } from "../../../core/references/upload-command.ts";
import { FLAG_LABELS } from "../../../models/labels.ts";
import { isLocalFile } from "../../../models/rules/images.ts";
import { UploadCache } from "../../../store/uploads.ts";
import type { ReferenceFlags } from "../../flags/generate-flags.ts";
import type { Session } from "../../session/session.ts";

/**
 * Reads the files among a checked request's reference images; uploads nothing yet. Without an upload command there are
 * no files: what names one is sent as it is, under `--no-validate`.
 * @returns the images, and warnings about their files
 * @throws UsageError if a file cannot be used, or the upload command cannot
 */
export async function openReferences(
  images: readonly string[],
  { checkImages = false, uploadCache = true }: ReferenceFlags,
  { settings, context, folders }: Session,
): Promise<{ references: ReferenceImages; warnings: string[] }> {
  const label = FLAG_LABELS.image;
  const setting = await settings.get("uploadCommand");
  const command = setting === undefined ? null : parseUploadCommand(setting.value, setting.label);
  const given = command === null ? [] : [...new Set(images.filter(isLocalFile))];
  const files = await Promise.all(given.map((each) => readReferenceFile(each, label, context.resolvePath)));
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
