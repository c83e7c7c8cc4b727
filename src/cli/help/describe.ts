import type { Command } from "commander";
import { VERSION } from "../../lib/version.ts";
import { type CommandNode, describeCommand, type OptionNode, ownOptions } from "./command-tree.ts";
import { environmentTable, type Variable } from "./environment.ts";
import { type ExitCode, exitCodeTable } from "./exit-code-table.ts";

/** Raised when a reader of the document would have to change: fields are added without. */
const SCHEMA_VERSION = 1;

/** `--help --json`: all that a program needs to know to run imggen, without reading help. */
export interface Description {
  ok: true;
  schemaVersion: number;
  version: string;
  command: CommandNode;
  /** Taken by every command, but for those that it `refuses`. */
  globalOptions: readonly OptionNode[];
  exitCodes: readonly ExitCode[];
  environment: readonly Variable[];
}

/**
 * @param words of a command line: the command that they name is described, or the whole program
 * @param refusedBy as of `describeCommand`
 */
export function describe(
  program: Command,
  words: readonly string[],
  refusedBy: (name: string) => string[],
): Description {
  const command = commandNamed(program, words);
  return {
    ok: true,
    schemaVersion: SCHEMA_VERSION,
    version: VERSION,
    command: describeCommand(command, refusedBy),
    globalOptions: ownOptions(program),
    exitCodes: exitCodeTable(),
    environment: environmentTable(),
  };
}

function commandNamed(command: Command, [word, ...more]: readonly string[]): Command {
  const next = command.commands.find((each) => each.name() === word);
  return next === undefined ? command : commandNamed(next, more);
}
