import { createRequire } from "node:module";
import type TypeScript from "typescript";

/** The compiler. To import it would take Node half a second more, which it needs to find what nine megabytes export. */
export const ts: typeof TypeScript = createRequire(import.meta.url)("typescript");
