import { promises } from "node:fs";
import { WITHOUT_WAITING } from "./open-input.ts";

/**
 * A file's text. A named pipe in its place is an error: opening it as a file would block one of Node's threads until
 * another process writes to it, and no signal could end the program properly.
 * @throws the system's error
 */
export async function readText(file: string): Promise<string> {
  const text = await promises.readFile(file, { encoding: "utf8", flag: WITHOUT_WAITING });
  // A pipe without a writer reads as an empty file.
  if (text === "" && !(await promises.stat(file)).isFile()) throw new Error(`${file} is not a regular file`);
  return text;
}
