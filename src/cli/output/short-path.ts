import path from "node:path";
import type { Context } from "../app/context.ts";

/** A file as a person names it from where they are: relative to the working folder, where that is shorter. */
export function shortPath(file: string, { resolvePath }: Pick<Context, "resolvePath">): string {
  try {
    const relative = path.relative(resolvePath("."), file);
    return relative.length < file.length ? relative : file;
  } catch {
    // The working folder is gone.
    return file;
  }
}
