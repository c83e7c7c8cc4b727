import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { Client } from "../client/client.ts";
import type { RequestOptions } from "../client/options/call-options.ts";
import { type Kind, noFlag, type Option, type Options, type ValuesOf } from "../client/options/option.ts";
import { valueProblem } from "../client/options/option-kinds.ts";
import { REQUEST } from "../client/options/request-table.ts";
import type { Clock } from "../lib/clock.ts";
import { UsageError } from "../lib/error-types.ts";
import { collapseWhitespace, truncate } from "../lib/short-text.ts";
import type { GeneratorTerms } from "../models/check-request.ts";
import { formatCostRange, highestCost } from "../models/cost.ts";
import { resolveModel } from "../models/find.ts";
import { DEFAULT_MODEL, type Matrix, QUALITIES } from "../models/matrix.ts";
import { jsonFields, providerFields } from "../models/provider-fields.ts";
import { ANY_MODEL } from "../task/request.ts";
import type { ProviderFields } from "../task/request-fields.ts";
import type { Task } from "../task/task.ts";
import type { OutputFolder } from "./output-folder.ts";
import type { SessionBudget } from "./session-budget.ts";
import type { Call, Jobs } from "./session-jobs.ts";
import type { Answer } from "./tool-answer.ts";

export interface CallSettings {
  client: Client;
  matrix: Matrix;
  defaults: Omit<RequestOptions, "prompt">;
  /** Whether the provider is a generator, which can have models that are not in the matrix. */
  takesAnyModel: boolean;
  previews: boolean;
  findOutput: () => Promise<OutputFolder>;
}

export interface Toolbox extends CallSettings {
  budget: SessionBudget;
  jobs: Jobs;
  /** Finds a task by its id or a prefix. @throws UsageError for an ambiguous prefix */
  findTask: (id: string) => Promise<Task | null>;
  /** null if there is no generator, or it lists no models. */
  generatorModels: () => Promise<string[] | null>;
  /** null if there is no generator. @throws ImggenError */
  generatorTerms: () => Promise<GeneratorTerms | null>;
  clock: Clock;
}

export interface Tool {
  name: string;
  title: string;
  /** Text for agents: purpose, cost, and the next call. */
  description: string;
  annotations: ToolAnnotations;
  inputSchema: InputSchema;
  /** @returns a function that runs the call @throws UsageError */
  prepare(args: unknown): (call: Call, toolbox: Toolbox) => Promise<Answer>;
}

/** JSON Schema with keywords that every client supports. */
interface InputSchema {
  type: "object";
  properties: Record<string, ArgumentSchema>;
  required?: string[];
}

type ArgumentSchema = Record<string, string | number | boolean | string[] | { type: string }>;

type Arguments<Table extends Options, PresentName extends keyof Table> = ValuesOf<Table> & {
  [Name in PresentName]-?: Exclude<ValuesOf<Table>[Name], undefined>;
};

interface Definition<Table extends Options, PresentName extends keyof Table>
  extends Omit<Tool, "inputSchema" | "prepare"> {
  options: Table;
  /** Arguments that always have a value. An argument without a default is required. */
  presentNames: readonly PresentName[];
  run(args: Arguments<Table, PresentName>, call: Call, toolbox: Toolbox): Promise<Answer>;
}

/** The types of the arguments are derived from `options`. */
export function tool<Table extends Options, Given extends keyof Table & string>({
  run,
  options,
  presentNames,
  ...definition
}: Definition<Table, Given>): Tool {
  const required = presentNames.filter((name) => options[name]?.default === undefined);
  const properties = Object.fromEntries(Object.entries(options).map(([name, row]) => [name, toSchema(row)]));
  return {
    ...definition,
    inputSchema: { type: "object", properties, ...(required.length > 0 && { required }) },
    prepare(args) {
      const checked = { ...getDefaults(options), ...(withoutNulls(args) as object) };
      const problems = findProblems(checked, options, required);
      if (problems.length > 0)
        throw new UsageError(`${definition.name}: ${problems.join("; ")}.`, {
          hint: "Nothing was sent. Correct the arguments, and call the tool again.",
        });
      return (call, toolbox) => run(checked as Arguments<Table, Given>, call, toolbox);
    },
  };
}

const TYPES: { readonly [OfKind in Kind]?: string } = {
  whole: "integer",
  flag: "boolean",
  texts: "array",
  images: "array",
};

function toSchema(row: Option): ArgumentSchema {
  const type = TYPES[row.kind] ?? "string";
  return {
    type,
    ...(type === "array" && { items: { type: "string" } }),
    ...(row.choices && { enum: [...row.choices] }),
    description: row.agents ?? "",
    ...(row.default !== undefined && { default: row.default }),
    ...(type === "integer" && { minimum: row.min ?? 0 }),
    ...(row.max !== undefined && { maximum: row.max }),
  };
}

function getDefaults(options: Options): object {
  const entries = Object.entries(options).map(([name, row]) => [name, row.default] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** All problems are returned, so that a model can correct all arguments together. */
function findProblems(args: object, options: Options, required: readonly string[]): string[] {
  const entries = Object.entries(args);
  const missingArguments = required
    .filter((name) => !Object.hasOwn(args, name))
    .map((name) => `${name} is required`);
  const invalidArguments = entries.flatMap(([name, value]) => {
    const row = Object.hasOwn(options, name) ? options[name] : undefined;
    if (row === undefined) return [`there is no argument ${JSON.stringify(name)}`];
    if (Array.isArray(value) && value.length === 0) return [`${name} must not be empty`];
    const problem = valueProblem(row, value);
    return problem === null ? [] : [`${name} must be ${problem}`];
  });
  return [...missingArguments, ...invalidArguments];
}

/** Many models send null for omitted arguments. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([name, item]) => [name, withoutNulls(item)]));
}

export interface ToolFacts extends Pick<CallSettings, "matrix" | "takesAnyModel" | "defaults"> {
  /** Terms of the user's generator; absent if the generator was not queried. */
  terms?: Pick<GeneratorTerms, "isFree" | "defaultModel"> | null;
}

/** Restricts a model option to the matrix, unless the provider can have other models. */
export function withModels<Row extends Option<"text">>(row: Row, { matrix, takesAnyModel }: ToolFacts): Row {
  return takesAnyModel ? row : { ...row, choices: matrix.map(({ id }) => id) };
}

const MAX_NAME_LENGTH = 100;

export function defaultModelText({ matrix, terms, takesAnyModel, defaults }: ToolFacts): string {
  const serviceModel = takesAnyModel ? ANY_MODEL : DEFAULT_MODEL;
  const model = terms?.defaultModel ?? defaults.model ?? serviceModel;
  if (typeof model !== "string" && model.type === "usage") return "Every request must name a model.";
  const isKnown = typeof model === "string" && model !== ANY_MODEL;
  const name = isKnown ? truncate(collapseWhitespace(model), MAX_NAME_LENGTH) : "the generator's default";
  return `Default model: ${name}, ${costText(isKnown ? model : ANY_MODEL, terms?.isFree === true, matrix)}.`;
}

function costText(name: string, isFree: boolean, matrix: Matrix): string {
  if (isFree) return "free of charge";
  const model = resolveModel(name, matrix);
  const range = model === undefined ? null : formatCostRange(model);
  return range ?? `whose cost is not documented and counts as ${highestCost(matrix)} credits`;
}

/** Combinations of fields are checked later, with the matrix. */
export function requestArguments(settings: ToolFacts) {
  return {
    prompt: noFlag("text", { agents: "Text that describes the image." }),
    ...REQUEST,
    model: {
      ...withModels(REQUEST.model, settings),
      agents: `Id of the model. list_models returns the abilities and costs of each model. ${defaultModelText(settings)}`,
    },
    quality: { ...REQUEST.quality, choices: QUALITIES },
    maxImages: { ...REQUEST.maxImages, isAdvisory: false },
    fields: noFlag("texts", {
      agents:
        "Further fields of the user's own generator, each as name=value, such as steps=20. Write an object or a list as JSON.",
    }),
  } satisfies Options;
}

type RequestArguments = Omit<RequestOptions, "prompt" | "fields"> & {
  prompt: string;
  fields?: string | readonly string[] | undefined;
};

/** @throws UsageError for fields that cannot be parsed */
export function toRequestOptions(
  { fields, ...request }: RequestArguments,
  { defaults }: CallSettings,
): RequestOptions {
  return { ...defaults, ...request, ...(fields !== undefined && { fields: parseFields([fields].flat()) }) };
}

function parseFields(pairs: readonly string[]): ProviderFields {
  const isJson = (pair: string) => /^[^=]+=\s*[[{]/.test(pair);
  const jsonPairs = pairs.filter(isJson);
  const plainPairs = pairs.filter((pair) => !isJson(pair));
  return {
    ...providerFields("fields", JSON.stringify(plainPairs)),
    ...jsonFields("fields", JSON.stringify(jsonPairs)),
  };
}
