import { fileURLToPath } from "node:url";

/** The environment that lets the built program meet a failing disk operation. */
export function failingDisk(fault: { operation: string; code?: string; match: string; after?: number }) {
  const hook = fileURLToPath(new URL("failing-disk.js", import.meta.url));
  return { NODE_OPTIONS: `--import ${hook}`, IMGGEN_TEST_DISK: JSON.stringify(fault) };
}
