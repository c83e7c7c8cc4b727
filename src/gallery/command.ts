import type { ImageOrigin } from "../core/task/origin.ts";
import { shellWord } from "../lib/shell-word.ts";
import { FLAG_LABELS } from "../models/labels.ts";
import { SANDBOX_SERVICE } from "../task/intent.ts";
import { FIELD_NAMES } from "../task/request-fields.ts";

/**
 * The command line that makes an image again. A page may be given away, and the query of a reference image may be a
 * signature: such a request is named by its task.
 */
export function commandFor({ request, service, taskId, record }: ImageOrigin): string | null {
  const where = service === SANDBOX_SERVICE ? ["--sandbox"] : [];
  const references = [request.image ?? []].flat();
  if (references.some((url) => url.includes("?")))
    return taskId && record ? ["imggen", "rerun", shellWord(taskId), ...where].join(" ") : null;
  const flags = FIELD_NAMES.filter((name) => name !== "prompt").flatMap((name) =>
    [request[name] ?? []].flat().flatMap((value) => [FLAG_LABELS[name], shellWord(String(value))]),
  );
  const end = request.prompt.startsWith("-") ? ["--"] : [];
  return ["imggen", "generate", ...flags, ...where, ...end, shellWord(request.prompt)].join(" ");
}
