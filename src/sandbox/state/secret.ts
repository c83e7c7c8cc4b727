import { randomBytes } from "node:crypto";
import { errorCode } from "../../lib/error-code.ts";
import { readPublished } from "../../lib/publish.ts";
import { createWhole } from "../../lib/write-whole.ts";

const DIGITS = 64;

/**
 * A secret in a file, such as the one that result URLs are signed with: created once, the same for every process.
 * @param prefix what it begins with
 */
export async function loadSecret(file: string, prefix = ""): Promise<string> {
  try {
    return await readPublished(file, (text) => text.length >= prefix.length + DIGITS);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
  await createWhole(file, prefix + randomBytes(DIGITS / 2).toString("hex"), 0o600);
  return loadSecret(file, prefix);
}
