import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { UsageError } from "../lib/error-types.ts";
import { truncate } from "../lib/short-text.ts";
import type { Environment } from "./this-process.ts";

/** Character that replaces invalid UTF-8 when Node decodes a text. A valid text can contain this character too. */
const REPLACEMENT = "\ufffd";

const ENCODING_HINT =
  "Nothing was sent. Check the encoding of the terminal, or of the script that runs imggen.";

/** @throws UsageError for an argument that is not valid UTF-8, because another prompt than the user's would be sent */
export function requireUtf8Arguments(argv: readonly string[]): void {
  for (const argument of argv)
    if (wasInvalid("cmdline", argument))
      throw new UsageError(`The argument ${JSON.stringify(truncate(argument, 60))} is not valid UTF-8.`, {
        hint: ENCODING_HINT,
      });
}

/** @throws UsageError for an `IMGGEN_` variable that is not valid UTF-8 */
export function requireUtf8Variables(env: Environment): void {
  for (const [name, value] of Object.entries(env))
    if (name.startsWith("IMGGEN_") && value !== undefined && wasInvalid("environ", `${name}=${value}`))
      throw new UsageError(`The value of ${name} is not valid UTF-8.`, { hint: ENCODING_HINT });
}

/** Whether a text had invalid bytes. If the bytes are unavailable, a text with the replacement character counts too. */
function wasInvalid(source: "cmdline" | "environ", text: string): boolean {
  if (!text.includes(REPLACEMENT)) return false;
  try {
    const bytes = readFileSync(`/proc/self/${source}`);
    return splitAtZeros(bytes).some((part) => !isUtf8(part) && part.toString("utf8") === text);
  } catch {
    return true;
  }
}

function splitAtZeros(bytes: Buffer): Buffer[] {
  const texts: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from);
    const to = end === -1 ? bytes.length : end;
    texts.push(bytes.subarray(from, to));
    from = to + 1;
  }
  return texts;
}
