import { execFile } from "node:child_process";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { BIN } from "./program.ts";

/** Flags of a command before a service on this machine: it is polled as often as one may. */
export const QUICK = ["--poll-interval", "100ms"] as const;

/** A script whose commands have these flags. */
export function quick(script: string): string {
  return script.replace(/\bimggen (?:generate|resume|rerun|batch|compare)\b/g, `$& ${QUICK.join(" ")}`);
}

/** Runs lines as a person would paste them. */
export interface Shell {
  env: Record<string, string | undefined>;
  /** @throws where the line ends with another code than 0 */
  run(line: string): Promise<{ stdout: string; stderr: string }>;
}

/** A shell in a folder in which `imggen` is the built program, and the service is a sandbox. */
export async function shellIn(folder: string, baseUrl: string): Promise<Shell> {
  const bin = path.join(folder, "bin");
  await mkdir(bin);
  await symlink(process.execPath, path.join(bin, "node"));
  const launcher = path.join(bin, "imggen");
  await writeFile(launcher, `#!/bin/sh\nexec node "${BIN}" "$@"\n`);
  await chmod(launcher, 0o755);
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    IMGGEN_HOME: path.join(folder, "home"),
    IMGGEN_API_KEY: "sk-sandbox",
    IMGGEN_BASE_URL: baseUrl,
  };
  return { env, run: (line) => promisify(execFile)("sh", ["-c", quick(line)], { cwd: folder, env }) };
}
