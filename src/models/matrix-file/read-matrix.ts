import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { firstInvalidByte, readRegular } from "../../lib/read-file.ts";
import type { Wording } from "../../lib/wording.ts";
import { type Columns, type Matrix, MODELS, type Model, model } from "../matrix.ts";
import { type MatrixEntry, MatrixProblem, readEntries, valueText } from "./matrix-schema.ts";

const MAX_BYTES = 1024 * 1024;

/** Returns the built-in models with the changes of a matrix file. @throws UsageError naming the file and the field */
export function readMatrix(file: string, hint: Wording, base?: MatrixBase): Matrix {
  const invalidFile = (problem: string, cause?: unknown) =>
    new UsageError(`The model matrix ${file} cannot be used: ${problem}.`, { hint, cause });
  let text: string;
  try {
    text = readMatrixText(file);
  } catch (error) {
    throw invalidFile(errorText(error), error);
  }
  if (text.trim() === "") throw invalidFile("it is empty");
  try {
    return mergeMatrix(JSON.parse(text), base);
  } catch (error) {
    if (error instanceof SyntaxError)
      throw invalidFile(`it is not JSON: ${syntaxProblem(error, text)}`, error);
    if (error instanceof MatrixProblem) throw invalidFile(error.message, error);
    throw error;
  }
}

/** @throws Error with the problem, or the system's error */
function readMatrixText(file: string): string {
  const bytes = readRegular(file, MAX_BYTES);
  const invalidByte = firstInvalidByte(bytes);
  if (invalidByte !== -1) throw new Error(`it is not UTF-8 at byte ${invalidByte}`);
  return bytes.toString("utf8").replace(/^\uFEFF/, "");
}

function syntaxProblem({ message }: SyntaxError, text: string): string {
  const [position = "", offset = ""] = /(?: in JSON)? at position (\d+)(?: \(.*\))?/.exec(message) ?? [];
  if (position === "") return message;
  const line = text.slice(0, Number(offset)).split("\n").length;
  return message.replace(position, ` in line ${line}`);
}

export interface MatrixBase {
  builtIn: Matrix;
  /** Defaults for the columns that an entry omits, if its model is not built in. */
  newModelDefaults: Columns;
}

const SERVICE_BASE: MatrixBase = { builtIn: MODELS, newModelDefaults: {} };

/** An entry overrides columns of the built-in model with its id, or adds a new model. @throws MatrixProblem */
export function mergeMatrix(
  document: unknown,
  { builtIn, newModelDefaults }: MatrixBase = SERVICE_BASE,
): Matrix {
  const models = new Map(builtIn.map((each) => [each.id, each]));
  const pathsById = new Map<string, string>();
  readEntries(document).forEach((entry, index) => {
    const at = `models[${index}]`;
    requireUniqueId(entry, at, pathsById, builtIn);
    const merged = mergedModel(entry, models.get(entry.id), newModelDefaults);
    requireDefaults(merged, entry, at);
    models.set(entry.id, merged);
  });
  return [...models.values()];
}

function mergedModel(
  { id, ...cells }: MatrixEntry,
  builtIn: Model | undefined,
  newModelDefaults: Columns,
): Model {
  return builtIn === undefined ? model(id, newModelDefaults, cells) : { ...builtIn, ...cells };
}

/** Refuses ids that are equal or differ only in letter case, because models are found by id in any letter case. */
function requireUniqueId(
  { id }: MatrixEntry,
  at: string,
  pathsById: Map<string, string>,
  builtIn: Matrix,
): void {
  const lowerId = id.toLowerCase();
  const earlier = pathsById.get(lowerId);
  if (earlier !== undefined)
    throw new MatrixProblem(`${at}.id`, `${valueText(id)} is the id of ${earlier} too`);
  pathsById.set(lowerId, at);
  const sameInLowerCase = builtIn.find((each) => each.id.toLowerCase() === lowerId);
  if (sameInLowerCase !== undefined && sameInLowerCase.id !== id)
    throw new MatrixProblem(
      `${at}.id`,
      `${valueText(id)} differs from the built-in ${sameInLowerCase.id} only in case`,
    );
}

/** @throws MatrixProblem if a default is not among the model's values */
function requireDefaults(merged: Model, entry: MatrixEntry, at: string): void {
  for (const { name, value, list, values } of [
    { name: "defaultRatio", value: merged.defaultRatio, list: "ratios", values: merged.ratios },
    { name: "defaultQuality", value: merged.defaultQuality, list: "qualities", values: merged.qualities },
  ] as const) {
    if (value === null || values === null || values.some((each) => each === value)) continue;
    const problem = Object.hasOwn(entry, name)
      ? `is ${value}, which`
      : `is missing, and its built-in value ${value}`;
    throw new MatrixProblem(`${at}.${name}`, `${problem} is not in ${at}.${list}`);
  }
}
