import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { removeIfPresent } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-code.ts";
import { publishOnce } from "../../lib/publish.ts";

/** The secret that result URLs are signed with: created once for each folder, the same for every process. */
export async function loadSecret(folder: string): Promise<string> {
  const file = path.join(folder, "secret");
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
  const temporary = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  await writeFile(temporary, randomBytes(32).toString("hex"), { mode: 0o600, flag: "wx" });
  await publishOnce(temporary, file);
  removeIfPresent(temporary);
  return readFile(file, "utf8");
}
