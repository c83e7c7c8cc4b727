import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

/** Where a home has its settings. */
export const settingsFile = ({ home }: { home: string }) => path.join(home, "config", "config.json");

/** Writes a home's settings, or any text in their place. @returns the file */
export async function withConfig(
  world: { home: string },
  settings: object | string,
  mode = 0o600,
): Promise<string> {
  const file = settingsFile(world);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, typeof settings === "string" ? settings : JSON.stringify(settings), { mode });
  return file;
}

/** What a home has stored; nothing where there is no file. */
export async function storedSettings(world: { home: string }) {
  return JSON.parse(await readFile(settingsFile(world), "utf8").catch(() => "{}"));
}
