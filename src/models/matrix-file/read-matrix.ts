import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { firstInvalidByte, readRegular } from "../../lib/read-file.ts";
import type { Wording } from "../../lib/wording.ts";
import { type Columns, type Matrix, MODELS, type Model, model } from "../matrix.ts";
import { type MatrixEntry, MatrixProblem, readEntries, valueText } from "./matrix-schema.ts";

/** Some thousand models; a larger file is not a matrix. */
const MAX_BYTES = 1024 * 1024;

/**
 * The models of a run with those of a matrix file.
 * @param hint advice if the file is invalid
 * @param base as of `mergeMatrix`
 * @throws UsageError naming the file and the field
 */
export function readMatrix(file: string, hint: Wording, base?: MatrixBase): Matrix {
  const refused = (why: string, cause?: unknown) =>
    new UsageError(`The model matrix ${file} cannot be used: ${why}.`, { hint, cause });
  let text: string;
  try {
    text = readMatrixText(file);
  } catch (error) {
    throw refused(errorText(error), error);
  }
  if (text.trim() === "") throw refused("it is empty");
  try {
    return mergeMatrix(JSON.parse(text), base);
  } catch (error) {
    if (error instanceof SyntaxError) throw refused(`it is not JSON: ${syntaxProblem(error, text)}`, error);
    if (error instanceof MatrixProblem) throw refused(error.message, error);
    throw error;
  }
}

/** A file's text without a byte-order mark. @throws Error, or the system's */
function readMatrixText(file: string): string {
  const bytes = readRegular(file, MAX_BYTES);
  const invalid = firstInvalidByte(bytes);
  if (invalid !== -1) throw new Error(`it is not UTF-8 at byte ${invalid}`);
  return bytes.toString("utf8").replace(/^\uFEFF/, "");
}

/** The parser's message, with the line in place of an offset. */
function syntaxProblem({ message }: SyntaxError, text: string): string {
  const [position = "", offset = ""] = /(?: in JSON)? at position (\d+)(?: \(.*\))?/.exec(message) ?? [];
  if (position === "") return message;
  const line = text.slice(0, Number(offset)).split("\n").length;
  return message.replace(position, ` in line ${line}`);
}

export interface MatrixBase {
  builtIn: Matrix;
  /** Columns of a model that only the file has, if its entry omits them. */
  added: Columns;
}

const SERVICE: MatrixBase = { builtIn: MODELS, added: {} };

/**
 * The built-in models with the entries of a matrix file: an entry with a known id overrides columns, others are
 * appended.
 * @param document the file's JSON value @param base default: the service's models @throws MatrixProblem
 */
export function mergeMatrix(document: unknown, { builtIn, added }: MatrixBase = SERVICE): Matrix {
  const models = new Map(builtIn.map((each) => [each.id, each]));
  const pathsById = new Map<string, string>();
  readEntries(document).forEach((entry, index) => {
    const at = `models[${index}]`;
    requireUniqueId(entry, at, pathsById, builtIn);
    const merged = mergedModel(entry, models.get(entry.id), added);
    requireDefaults(merged, entry, at);
    models.set(entry.id, merged);
  });
  return [...models.values()];
}

function mergedModel({ id, ...cells }: MatrixEntry, builtIn: Model | undefined, added: Columns): Model {
  return builtIn === undefined ? model(id, added, cells) : { ...builtIn, ...cells };
}

/** Ids are looked up in any case, so no two may differ in case alone. */
function requireUniqueId(
  { id }: MatrixEntry,
  at: string,
  pathsById: Map<string, string>,
  builtIn: Matrix,
): void {
  const lower = id.toLowerCase();
  const earlier = pathsById.get(lower);
  if (earlier !== undefined)
    throw new MatrixProblem(`${at}.id`, `${valueText(id)} is the id of ${earlier} too`);
  pathsById.set(lower, at);
  const alike = builtIn.find((each) => each.id.toLowerCase() === lower);
  if (alike !== undefined && alike.id !== id)
    throw new MatrixProblem(
      `${at}.id`,
      `${valueText(id)} differs from the built-in ${alike.id} only in case`,
    );
}

/** A default must be among the model's own values. */
function requireDefaults(merged: Model, entry: MatrixEntry, at: string): void {
  for (const { name, value, list, values } of [
    { name: "defaultRatio", value: merged.defaultRatio, list: "ratios", values: merged.ratios },
    { name: "defaultQuality", value: merged.defaultQuality, list: "qualities", values: merged.qualities },
  ] as const) {
    if (value === null || values === null || values.some((each) => each === value)) continue;
    const what = Object.hasOwn(entry, name) ? `is ${value}, which` : `is missing, and ${value}`;
    throw new MatrixProblem(`${at}.${name}`, `${what} is not in ${at}.${list}`);
  }
}
