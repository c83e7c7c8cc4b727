import type { Command } from "commander";
import { GENERATOR, GLOBAL } from "../../client/options/global-options.ts";
import type { Option } from "../../client/options/option.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Console } from "../text/console.ts";
import type { GlobalOptions, Session } from "./session.ts";

export interface CommandModule {
  register(command: Command, runWith: RunWith): void;
}

/** Sets the summary of a command, and the first sentence of its help. */
export function describeBriefly(command: Command, summary: string): Command {
  return command.summary(summary).description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`);
}

/** Returns the names of a command and its parents, without the program's name, such as `config` and `set`. */
export function commandWords(command: Command): string[] {
  return command.parent === null ? [] : [...commandWords(command.parent), command.name()];
}

export function withHelpHint(command: Command, error: unknown): unknown {
  if (!(error instanceof UsageError) || error.hint !== null) return error;
  const hint = `See ${["imggen", ...commandWords(command), "--help"].join(" ")}.`;
  return new UsageError(error.message, { hint, cause: error });
}

export interface Answer {
  /** An AsyncIterable becomes an array. Undefined if a later document contains the result. */
  json?: unknown;
  show: () => Promise<unknown>;
  /** Called after the result is printed, with and without `--json`. */
  after?: () => Promise<unknown>;
}

export async function showAnswer(answer: Answer, { json }: GlobalOptions, console: Console): Promise<number> {
  if (!json) await answer.show();
  else if (isAsyncIterable(answer.json)) await console.jsonList(answer.json);
  else if (answer.json !== undefined) await console.json(answer.json);
  await answer.after?.();
  return 0;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Wraps the run function of a command: creates its session, and prints its result or stores its exit code. */
export type RunWith = <Arguments extends unknown[]>(
  run: (session: Session, ...args: Arguments) => Promise<number | Answer>,
) => (...args: Arguments) => Promise<void>;

const FLAGS_WITH_VALUE: ReadonlySet<string | undefined> = new Set(
  Object.values<Option>({ ...GLOBAL, ...GENERATOR }).flatMap(({ flag }) => {
    const [names = "", value] = flag?.split(" <") ?? [];
    return value === undefined ? [] : names.split(", ");
  }),
);

/** Returns the arguments that are neither flags nor values of global flags. The first of them is the command. */
export function plainWords(argv: readonly string[]): string[] {
  return argv.filter((word, at) => !word.startsWith("-") && !FLAGS_WITH_VALUE.has(argv[at - 1]));
}

/** Hidden command that completion scripts call; see `completion/offer.ts`. */
export const COMPLETE_COMMAND = "__complete";
