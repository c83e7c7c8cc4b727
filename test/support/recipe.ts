import { readFile } from "node:fs/promises";
import path from "node:path";

const DOCS = path.resolve(import.meta.dirname, "../../.github/docs");

/** The first block of code of a page in `.github/docs`, or below one of its headings. */
export async function recipe(page: string, heading?: string): Promise<string> {
  const text = await readFile(path.join(DOCS, `${page}.md`), "utf8");
  const below = heading === undefined ? text : text.slice(text.indexOf(`\n## ${heading}`) + 1);
  return /```\w+\n([\s\S]*?)```/.exec(below)?.[1] ?? "";
}
