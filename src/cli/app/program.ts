import { Command } from "commander";
import { UsageError } from "../../lib/error-types.ts";
import { VERSION } from "../../lib/version.ts";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { collect, describeBriefly, plainWords, type RunWith } from "../session/command.ts";
import { GENERATOR_FLAGS, longFlag } from "../session/generator-flags.ts";
import type { GlobalOptions } from "../session/session.ts";
import { COMMANDS, isCommand } from "./commands.ts";
import { GENERATOR_OPTIONS, GLOBAL_OPTIONS, helpLayout } from "./help-layout.ts";

/** What the parser answers by itself. */
const BUILT_IN: readonly string[] = ["help", "version"];

const EXAMPLES = `
Examples:
  $ imggen generate "a lighthouse at dusk" --sandbox   try it: free, no account
  $ imggen login --base-url https://example.com/api    store your key
  $ imggen generate "a red fox, watercolor" -m gamma-image-2 -r 16:9 -q 2K
  $ imggen models --ratio 21:9                         which model can do this?
  $ imggen resume                                      finish what was interrupted`;

interface ParserOptions {
  /** Width of the help. */
  columns: number;
  /** Gets help and the version. */
  onText: (text: string) => void;
  runWith: RunWith;
}

/**
 * Builds the parser: with the command that is to run, in full; without one, with every command by name and summary.
 * @param inFull builds all of them in full, to describe them
 */
export async function buildProgram(
  argv: readonly string[],
  { columns, onText, runWith }: ParserOptions,
  inFull: boolean,
): Promise<Command> {
  const program = new Command("imggen")
    .description(
      "Generate images from the command line.\nNever submits a request twice by itself, and never loses a charged image.",
    )
    .optionsGroup(GLOBAL_OPTIONS)
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help; with --json, as one JSON document")
    .option("--json", "print exactly one JSON document on standard output")
    .option("--quiet", "print only errors on standard error")
    .option("--verbose", "log HTTP requests")
    .option("--no-color", "disable colours")
    .option("--profile <name>", "use the account and settings of this profile")
    .option("--sandbox", "use the embedded sandbox instead of the service (free, no account)")
    .configureHelp(helpLayout(argv.includes("--all")))
    .configureOutput({
      writeOut: onText,
      writeErr: () => {},
      getOutHelpWidth: () => columns,
      // What is shown is painted later; asking Node whether it can be would open its streams.
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .addHelpText("after", EXAMPLES)
    .action(({ json }: GlobalOptions) => {
      if (json) throw new UsageError("No command was given.", { hint: "See imggen --help." });
      program.outputHelp();
    });
  addGeneratorOptions(program);
  const [chosen] = namedCommand(argv);
  if (!inFull && chosen !== undefined && !isCommand(chosen) && !BUILT_IN.includes(chosen)) {
    throw (await import("./usage-error.ts")).unknownCommand(chosen, argv);
  }
  const isAlone = !inFull && chosen !== undefined && isCommand(chosen);
  for (const [name, entry] of Object.entries(COMMANDS)) {
    if (isAlone && name !== chosen) continue;
    const command = program.command(name).helpGroup(`${entry.group}:`);
    describeBriefly(command, entry.summary);
    if (inFull || name === chosen) (await entry.load()).register(command, runWith);
  }
  addBuiltIn(program, onText);
  return program;
}

/** Every command takes them. The help of each shows the first alone, and that of the topic all. */
function addGeneratorOptions(program: Command): void {
  for (const { setting, short, value, help, isRepeatable } of GENERATOR_FLAGS) {
    const names = [short ?? [], longFlag(setting)].flat().join(", ");
    const flags = value === null ? names : `${names} ${value}`;
    program.optionsGroup(setting === "generator" ? GLOBAL_OPTIONS : GENERATOR_OPTIONS);
    if (isRepeatable) program.option(flags, help, collect);
    else program.option(flags, help);
  }
}

function addBuiltIn(program: Command, onText: (text: string) => void): void {
  program
    .commandsGroup("Help:")
    .helpCommand("help [command]", `show help for a command or a topic (${TOPIC_NAMES.join(", ")})`);
  program
    .command("version")
    .description("Print the version.")
    .summary("print the version")
    .action(() => onText(VERSION));
}

/** The words of a command line that may name a command and its subcommand: first the command's name. */
export function namedCommand(argv: readonly string[]): string[] {
  const words = plainWords(argv);
  return words[0] === "help" ? words.slice(1) : words;
}
