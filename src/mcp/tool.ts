import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { Client } from "../client/client.ts";
import type { RequestOptions } from "../client/options/call-options.ts";
import { type Kind, noFlag, type Option, type Options, type ValuesOf } from "../client/options/option.ts";
import { valueProblem } from "../client/options/option-kinds.ts";
import { REQUEST } from "../client/options/request-table.ts";
import type { Clock } from "../lib/clock.ts";
import { UsageError } from "../lib/error-types.ts";
import { inOneLine, truncate } from "../lib/short-text.ts";
import type { GeneratorTerms } from "../models/check-request.ts";
import { costRange, highestCost } from "../models/cost.ts";
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

/** What the user has set, as it is when a call comes. */
export interface CallSettings {
  client: Client;
  matrix: Matrix;
  /** What applies where a call leaves it out. */
  defaults: Omit<RequestOptions, "prompt">;
  /** Whether the user's own generator makes the images: it may take other models than those of the matrix. */
  takesAnyModel: boolean;
  /** Whether answers hold the images themselves where a call does not say. */
  previews: boolean;
  /** Finds the folder for images, and makes sure that it can be written to. */
  findOutput: () => Promise<OutputFolder>;
}

/** What the tools of one session share. */
export interface Toolbox extends CallSettings {
  budget: SessionBudget;
  jobs: Jobs;
  /** The ledger's task of an id or of the beginning of one; null if it has none. @throws UsageError if several begin so */
  findTask: (id: string) => Promise<Task | null>;
  /** The names of the user's own generator's models; null without one, or where it has no list. */
  generatorModels: () => Promise<string[] | null>;
  /** The terms of requests to the user's own generator, which is asked; null without one. @throws ImggenError */
  generatorTerms: () => Promise<GeneratorTerms | null>;
  clock: Clock;
}

/** A tool as agents see it, and what it does. */
export interface Tool {
  name: string;
  title: string;
  /** Text for an agent: what the tool does, what it costs, what to call next. */
  description: string;
  annotations: ToolAnnotations;
  inputSchema: InputSchema;
  /** Checks a call's arguments. @returns what then does the work @throws UsageError */
  prepare(args: unknown): (call: Call, toolbox: Toolbox) => Promise<Answer>;
}

/** JSON Schema with the keywords alone that every client knows. */
interface InputSchema {
  type: "object";
  properties: Record<string, ArgumentSchema>;
  required?: string[];
}

type ArgumentSchema = Record<string, string | number | boolean | string[] | { type: string }>;

type Arguments<Table extends Options, Given extends keyof Table> = ValuesOf<Table> & {
  [Name in Given]-?: Exclude<ValuesOf<Table>[Name], undefined>;
};

interface Definition<Table extends Options, Given extends keyof Table>
  extends Omit<Tool, "inputSchema" | "prepare"> {
  options: Table;
  /** Arguments that are always there: those without a default are required. */
  given: readonly Given[];
  run(args: Arguments<Table, Given>, call: Call, toolbox: Toolbox): Promise<Answer>;
}

/** A tool. The compiler checks that it takes what its options accept. */
export function tool<Table extends Options, Given extends keyof Table & string>({
  run,
  options,
  given,
  ...definition
}: Definition<Table, Given>): Tool {
  const required = given.filter((name) => options[name]?.default === undefined);
  const properties = Object.fromEntries(Object.entries(options).map(([name, row]) => [name, schemaOf(row)]));
  return {
    ...definition,
    inputSchema: { type: "object", properties, ...(required.length > 0 && { required }) },
    prepare(args) {
      const checked = { ...defaultsOf(options), ...(withoutNulls(args) as object) };
      const problems = problemsOf(checked, options, required);
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

function schemaOf(row: Option): ArgumentSchema {
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

function defaultsOf(options: Options): object {
  const entries = Object.entries(options).map(([name, row]) => [name, row.default] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Each problem of a call's arguments, so that a model can correct them at once. */
function problemsOf(args: object, options: Options, required: readonly string[]): string[] {
  const given = Object.entries(args);
  const missing = required.filter((name) => !Object.hasOwn(args, name)).map((name) => `${name}: is required`);
  const wrong = given.flatMap(([name, value]) => {
    const row = Object.hasOwn(options, name) ? options[name] : undefined;
    if (row === undefined) return [`there is no argument ${JSON.stringify(name)}`];
    if (Array.isArray(value) && value.length === 0) return [`${name}: must not be empty`];
    const problem = valueProblem(row, value);
    return problem === null ? [] : [`${name}: must be ${problem}`];
  });
  return [...missing, ...wrong];
}

/** Many models send null for what they leave out. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([name, item]) => [name, withoutNulls(item)]));
}

/** Facts that the texts of tools name. */
export interface Choosing extends Pick<CallSettings, "matrix" | "takesAnyModel" | "defaults"> {
  /** Of the user's own generator; absent where it was not asked. */
  terms?: Pick<GeneratorTerms, "isFree" | "defaultModel"> | null;
}

/** An option that names a model: one of those that there are, unless a generator may have others. */
export function withModels<Row extends Option<"text">>(row: Row, { matrix, takesAnyModel }: Choosing): Row {
  return takesAnyModel ? row : { ...row, choices: matrix.map(({ id }) => id) };
}

/** Maximum length of a generator's own name of a model in the text of a tool. */
const MAX_NAME_LENGTH = 100;

/** The model of a request that names none, and its cost, as a sentence. */
export function defaultModelText({ matrix, terms, takesAnyModel, defaults }: Choosing): string {
  const ofService = takesAnyModel ? ANY_MODEL : DEFAULT_MODEL;
  const model = terms?.defaultModel ?? defaults.model ?? ofService;
  if (typeof model !== "string" && model.type === "usage") return "Every request must name a model.";
  const isKnown = typeof model === "string" && model !== ANY_MODEL;
  const name = isKnown ? truncate(inOneLine(model), MAX_NAME_LENGTH) : "the generator's own";
  return `Default model: ${name}, ${costText(isKnown ? model : ANY_MODEL, terms?.isFree === true, matrix)}.`;
}

function costText(name: string, isFree: boolean, matrix: Matrix): string {
  if (isFree) return "free of charge";
  const model = resolveModel(name, matrix);
  const range = model === undefined ? null : costRange(model);
  return range ?? `whose cost is not documented and counts as ${highestCost(matrix)} credits`;
}

/** The fields of a request as tools take them. The matrix judges their combination, and says what to change. */
export function requestOptions(settings: Choosing) {
  return {
    prompt: noFlag("text", { agents: "What the image shows." }),
    ...REQUEST,
    model: {
      ...withModels(REQUEST.model, settings),
      agents: `Model; list_models says what each can do and costs. ${defaultModelText(settings)}`,
    },
    quality: { ...REQUEST.quality, choices: QUALITIES },
    maxImages: { ...REQUEST.maxImages, isAdvisory: false },
    fields: noFlag("texts", {
      agents:
        "Further fields of a generator of the user's own by their names there, each as name=value such as steps=20, an object or a list in JSON.",
    }),
  } satisfies Options;
}

type RequestArguments = Omit<RequestOptions, "prompt" | "fields"> & {
  prompt: string;
  fields?: string | readonly string[] | undefined;
};

/** A request of a tool's arguments and the user's settings. @throws UsageError for fields that cannot be read */
export function requestOf(
  { fields, ...request }: RequestArguments,
  { defaults }: CallSettings,
): RequestOptions {
  return { ...defaults, ...request, ...(fields !== undefined && { fields: fieldsOf([fields].flat()) }) };
}

function fieldsOf(pairs: readonly string[]): ProviderFields {
  const isJson = (pair: string) => /^[^=]+=\s*[[{]/.test(pair);
  const json = pairs.filter(isJson);
  const plain = pairs.filter((pair) => !isJson(pair));
  return {
    ...providerFields("fields", JSON.stringify(plain)),
    ...jsonFields("fields", JSON.stringify(json)),
  };
}
