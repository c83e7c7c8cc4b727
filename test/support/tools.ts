import { spawnSync } from "node:child_process";

/** Whether this system has a command of this name. */
export function hasTool(name: string): boolean {
  return spawnSync("sh", ["-c", 'command -v "$0"', name], { stdio: "ignore" }).status === 0;
}
