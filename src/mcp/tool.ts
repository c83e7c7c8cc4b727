import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod/v4";
import type { Client } from "../client/client.ts";
import type { RequestOptions } from "../client/options.ts";
import type { Clock } from "../lib/clock.ts";
import type { Matrix } from "../models/matrix.ts";
import type { TaskRecord } from "../task/record.ts";
import type { Answer } from "./answer.ts";
import type { Call, Jobs } from "./jobs.ts";
import type { SessionBudget } from "./session-budget.ts";

/** What the user has set, as it is when a call comes. */
export interface CallSettings {
  matrix: Matrix;
  /** What applies where a call leaves it out. */
  defaults: Omit<RequestOptions, "prompt">;
  /** Folder for images, absolute. */
  output: string;
}

/** What the tools of one session share. */
export interface Toolbox extends CallSettings {
  client: Client;
  budget: SessionBudget;
  jobs: Jobs;
  /** The ledger's task of an id or of the beginning of one; null if it has none. @throws UsageError if several begin so */
  findTask: (id: string) => Promise<TaskRecord | null>;
  clock: Clock;
}

/** A tool as agents see it, and what it does. */
export interface Tool {
  name: string;
  title: string;
  /** For an agent: what it does, what it costs, what to call next. */
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
      const checked = definition.input.parse(args);
      return (call, toolbox) => run(checked, call, toolbox);
    },
  };
}
