import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

/** The folder of tests with programs of others, which have a lock file of their own. */
export const INTEROP = path.resolve(import.meta.dirname, "../interop");

/** Whether those programs are installed. Where tests decide whether a change lands, they must be. */
export const hasInterop = process.env.CI !== undefined || existsSync(path.join(INTEROP, "node_modules"));

/** Loads modules of those programs. */
export const interopRequire = createRequire(path.join(INTEROP, "package.json"));
