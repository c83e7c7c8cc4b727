import { Command } from "commander";
import { GENERATOR, GLOBAL } from "../../client/options/global-options.ts";
import { UsageError } from "../../lib/error-types.ts";
import { VERSION } from "../../lib/version.ts";
import { FIRST_STEPS } from "../help/bare-program.ts";
import { addOptions } from "../session/add-options.ts";
import { describeBriefly, plainWords, type RunWith } from "../session/command.ts";
import type { GlobalOptions } from "../session/session.ts";
import { COMMANDS, isCommand } from "./commands.ts";
import { GENERATOR_OPTIONS, GLOBAL_OPTIONS, helpLayout } from "./help-layout.ts";

const BUILT_IN: readonly string[] = ["help", "version"];

const EXAMPLES = `
Examples:
  $ imggen generate "a lighthouse at dusk" --sandbox   try it: free, no account
  $ imggen login --base-url https://example.com/api    store your key
  $ imggen generate "a red fox, watercolor" -m gamma-image-2 -r 16:9 -q 2K
  $ imggen models --ratio 21:9                         which model can do this?
  $ imggen resume                                      finish what was interrupted`;

interface ParserOptions {
  columns: number;
  onText: (text: string) => void;
  runWith: RunWith;
}

/**
 * Builds the parser with only the command to run. Without a command, it has all names and summaries.
 * @param inFull whether to add all commands with their options, for help as JSON and the manual page
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
    .configureHelp(helpLayout(inFull || argv.includes("--all")))
    .configureOutput({
      writeOut: onText,
      writeErr: () => {},
      getOutHelpWidth: () => columns,
      // The parser's check for colours would open Node's streams, so it is disabled. Colours are added later.
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .addHelpText("after", EXAMPLES)
    .action(({ json }: GlobalOptions) => {
      if (json) throw new UsageError("No command was given.", { hint: "See imggen --help." });
      onText(FIRST_STEPS);
    });
  // A command's help without `--all` lists only global options under this heading, so `--generator` needs the heading.
  const { generator, ...generatorDetails } = GENERATOR;
  addOptions(program, { ...GLOBAL, generator }, GLOBAL_OPTIONS);
  addOptions(program, generatorDetails, GENERATOR_OPTIONS);
  const [commandName] = namedCommand(argv);
  if (!inFull && commandName !== undefined && !isCommand(commandName) && !BUILT_IN.includes(commandName)) {
    throw (await import("./usage-error.ts")).unknownCommand(commandName, argv);
  }
  const isOnlyCommand = !inFull && commandName !== undefined && isCommand(commandName);
  for (const [name, entry] of Object.entries(COMMANDS)) {
    if (isOnlyCommand && name !== commandName) continue;
    const command = program.command(name).helpGroup(`${entry.group}:`);
    describeBriefly(command, entry.summary);
    if (inFull || name === commandName) (await entry.load()).register(command, runWith);
  }
  addBuiltIn(program, onText);
  return program;
}

function addBuiltIn(program: Command, onText: (text: string) => void): void {
  program.commandsGroup("Help:").helpCommand("help [command]", "show help for a command or a topic");
  program
    .command("version")
    .description("Print the version.")
    .summary("print the version")
    .action(() => onText(VERSION));
}

export function namedCommand(argv: readonly string[]): string[] {
  const words = plainWords(argv);
  return words[0] === "help" ? words.slice(1) : words;
}
