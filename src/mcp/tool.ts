import type { ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod/v4";
import type { Client } from "../client/client.ts";
import type { RequestOptions } from "../client/options/call-options.ts";
import type { Clock } from "../lib/clock.ts";
import { DEFAULT_MODEL, MAX_IMAGES, type Matrix, QUALITIES, RATIOS } from "../models/matrix.ts";
import type { FieldName } from "../task/request-fields.ts";
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
  clock: Clock;
}

/** A tool as agents see it, and what it does. */
export interface Tool {
  name: string;
  title: string;
  /** Text for an agent: what the tool does, what it costs, what to call next. */
  description: string;
  annotations: ToolAnnotations;
  input: z.ZodObject;
  /** Checks a call's arguments. @returns what then does the work @throws z.ZodError */
  prepare(args: unknown): (call: Call, toolbox: Toolbox) => Promise<Answer>;
}

interface Definition<Input extends z.ZodObject> extends Omit<Tool, "input" | "prepare"> {
  input: Input;
  run(args: z.output<Input>, call: Call, toolbox: Toolbox): Promise<Answer>;
}

/** A tool. The compiler checks that it takes what its schema accepts. */
export function tool<Input extends z.ZodObject>({ run, ...definition }: Definition<Input>): Tool {
  return {
    ...definition,
    prepare(args) {
      const checked = definition.input.parse(withoutNulls(args));
      return (call, toolbox) => run(checked, call, toolbox);
    },
  };
}

/** Many models send null for what they leave out. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([name, item]) => [name, withoutNulls(item)]));
}

/** The fields of a request as tools take them. The matrix judges their combination, and says what to change. */
export function requestSchema({ matrix, takesAnyModel }: Pick<CallSettings, "matrix" | "takesAnyModel">) {
  const model: z.ZodType<string> = takesAnyModel ? z.string() : z.enum(matrix.map(({ id }) => id));
  return {
    prompt: z.string().describe("What the image shows."),
    model: model
      .optional()
      .describe(
        `Model; list_models says what each can do and costs. Default: the user's setting, else ${DEFAULT_MODEL}, whose cost is not documented.`,
      ),
    ratio: z
      .string()
      .optional()
      .meta({ examples: RATIOS, description: "Aspect ratio such as 16:9, or auto, as the model allows." }),
    image: z
      .array(z.string())
      .min(1)
      .optional()
      .describe(
        "http(s) URLs of reference images, for a model that edits; with a generator of the user's own, files below the output folder too.",
      ),
    maxImages: z
      .int()
      .min(MAX_IMAGES.min)
      .max(MAX_IMAGES.max)
      .optional()
      .describe("Number of images, as the model allows."),
    seed: z
      .union([z.int().min(0), z.string().regex(/^\d{1,20}$/)])
      .optional()
      .describe(
        "Seed of the first image; each further one has the next. Beyond 2^53 its digits as a string. Only for a generator of the user's own.",
      ),
    negative: z
      .string()
      .optional()
      .describe("What the image is not to show. Only for a generator of the user's own."),
    fields: z
      .record(z.string(), z.json())
      .optional()
      .describe("Further fields of a generator of the user's own by their names there, such as steps."),
    quality: z.enum(QUALITIES).optional().describe("Quality or resolution, as the model allows."),
  } satisfies Record<FieldName, z.ZodType>;
}
