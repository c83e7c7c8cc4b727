import { spawnSync } from "node:child_process";

/** Whether this system has a command of this name. */
export function hasTool(name: string): boolean {
  return spawnSync("sh", ["-c", 'command -v "$0"', name], { stdio: "ignore" }).status === 0;
}

/** Whether the tests that need a tool run: where it is, and in CI, but for what could not be installed there. */
export function mustHaveTool(name: string): boolean {
  const { CI, IMGGEN_TESTS_LACK = "" } = process.env;
  return hasTool(name) || (CI !== undefined && !IMGGEN_TESTS_LACK.split(" ").includes(name));
}
