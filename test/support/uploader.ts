import { chmod, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

/** An upload command for tests: a shell script that counts its runs. */
export type Uploader = Awaited<ReturnType<typeof uploader>>;

/** Prints a URL that differs from run to run, as a service that signs it does. */
export const PRINTS_URL = 'echo "https://cdn.example/$(wc -l < "$log" | tr -d " ").png"';

/** @param body of the script: `$1` is the file, `$log` has a line for each run */
export async function uploader(folder: string, body = PRINTS_URL) {
  const script = path.join(folder, "upload command.sh");
  const log = path.join(folder, "uploads.log");
  const record = `log='${log}'\necho "$1 $(env | cut -d= -f1 | sort | tr '\\n' ' ')" >> "$log"`;
  await writeFile(script, `#!/bin/sh\n${record}\n${body}\n`);
  await chmod(script, 0o755);
  return {
    /** For `uploadCommand`. */
    command: `"${script}" {file}`,
    /** What each run was for: the file's path, and the environment's variables. */
    runs: async () => (await readFile(log, "utf8").catch(() => "")).split("\n").slice(0, -1),
  };
}
