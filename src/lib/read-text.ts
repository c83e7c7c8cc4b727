import { promises } from "node:fs";
import { WITHOUT_WAITING } from "./open-input.ts";

/**
 * A file's text. A named pipe in its place is an error: to open it as a file would block one of Node's threads until
 * somebody writes to it, and no signal could end the program in good order.
 * @throws what the system says
 */
export async function readText(file: string): Promise<string> {
  const text = await promises.readFile(file, { encoding: "utf8", flag: WITHOUT_WAITING });
  // A pipe that nobody writes to reads as an empty file.
  if (text === "" && !(await promises.stat(file)).isFile()) throw new Error(`${file} is not a regular file`);
  return text;
}
