import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { readRegular } from "../../lib/read-file.ts";
import { firstInvalidByte } from "../../lib/utf8.ts";
import type { Matrix } from "../matrix.ts";
import { mergeMatrix } from "./merge.ts";
import { MatrixProblem } from "./schema.ts";

/** Some thousand models. A file that is larger was meant to be something else. */
const LARGEST_BYTES = 1024 * 1024;

/**
 * The models of a run with those of a matrix file.
 * @param hint what to do where it is wrong
 * @throws UsageError naming the file and the field
 */
export function readMatrix(file: string, hint: string): Matrix {
  const refused = (why: string, cause?: unknown) =>
    new UsageError(`The model matrix ${file} cannot be used: ${why}.`, { hint, cause });
  let text: string;
  try {
    text = textOf(file);
  } catch (error) {
    throw refused(errorText(error), error);
  }
  if (text.trim() === "") throw refused("it is empty");
  try {
    return mergeMatrix(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) throw refused(`it is not JSON: ${syntaxProblem(error, text)}`, error);
    if (error instanceof MatrixProblem) throw refused(error.message, error);
    throw error;
  }
}

/** A file's text, without a byte-order mark. @throws Error, or the system's */
function textOf(file: string): string {
  const bytes = readRegular(file, LARGEST_BYTES);
  const invalid = firstInvalidByte(bytes);
  if (invalid !== -1) throw new Error(`it is not UTF-8 at byte ${invalid}`);
  return bytes.toString("utf8").replace(/^\uFEFF/, "");
}

/** What the parser says, with the line in place of an offset. */
function syntaxProblem({ message }: SyntaxError, text: string): string {
  const [position = "", offset = ""] = /(?: in JSON)? at position (\d+)(?: \(.*\))?/.exec(message) ?? [];
  if (position === "") return message;
  const line = text.slice(0, Number(offset)).split("\n").length;
  return message.replace(position, ` in line ${line}`);
}
