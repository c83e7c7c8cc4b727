import type { Command } from "commander";
import { GENERATOR, GLOBAL } from "../../client/options/global-options.ts";
import type { Option } from "../../client/options/option.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Console } from "../text/console.ts";
import type { GlobalOptions, Session } from "./session.ts";

/** Export of a command's file: registers its flags and its run function. */
export interface CommandModule {
  register(command: Command, runWith: RunWith): void;
}

/** Sets the summary for a list of commands, and the same as the first sentence of the command's help. */
export function describeBriefly(command: Command, summary: string): Command {
  return command.summary(summary).description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`);
}

/** The words that name a command, without the program's: `config set`. */
export function commandWords(command: Command): string[] {
  return command.parent === null ? [] : [...commandWords(command.parent), command.name()];
}

/** Adds a reference to the command's help to a usage error without a hint. */
export function withHelpHint(command: Command, error: unknown): unknown {
  if (!(error instanceof UsageError) || error.hint !== null) return error;
  const hint = `See ${["imggen", ...commandWords(command), "--help"].join(" ")}.`;
  return new UsageError(error.message, { hint, cause: error });
}

/** The answer of a command, or of each task of one that shows each as it ends: a document, or text for a person. */
export interface Answer {
  /** The document of `--json`; of an AsyncIterable: the list of its items. Absent: none, for a part of a whole. */
  json?: unknown;
  /** Shows it to a person. */
  show: () => Promise<unknown>;
  /** Done after it in any case: warnings, files to open. */
  after?: () => Promise<unknown>;
}

/** Shows an answer, as `--json` decides. @returns the exit code */
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

/** Wraps a command's run function: hands it a session, and shows its answer, or keeps the exit code it returns. */
export type RunWith = <Arguments extends unknown[]>(
  run: (session: Session, ...args: Arguments) => Promise<number | Answer>,
) => (...args: Arguments) => Promise<void>;

/** Global flags that take a value. */
const WITH_VALUE: ReadonlySet<string | undefined> = new Set(
  Object.values<Option>({ ...GLOBAL, ...GENERATOR }).flatMap(({ flag }) => {
    const [names = "", value] = flag?.split(" <") ?? [];
    return value === undefined ? [] : names.split(", ");
  }),
);

/** The words of a command line that are neither flags nor the values of global flags: first the command's name. */
export function plainWords(argv: readonly string[]): string[] {
  return argv.filter((word, at) => !word.startsWith("-") && !WITH_VALUE.has(argv[at - 1]));
}

/** The word that a completion script asks the program with; `completion/offer.ts` answers. */
export const ASK = "__complete";
