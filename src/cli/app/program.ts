import { Command } from "commander";
import { UsageError } from "../../lib/error-types.ts";
import { VERSION } from "../../lib/version.ts";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { collect, describeBriefly, plainWords, type RunWith, wordsOf } from "../session/command.ts";
import type { Context } from "../session/context.ts";
import { GENERATOR_FLAGS, longFlag } from "../session/generator-flags.ts";
import type { GlobalOptions } from "../session/session.ts";
import { COMMANDS, isCommand, refusedGlobals } from "./commands.ts";
import { GENERATOR_OPTIONS, GLOBAL_OPTIONS, helpColumns, helpLayout } from "./help-layout.ts";

/** What the parser answers by itself. */
const BUILT_IN: readonly string[] = ["help", "version"];

const EXAMPLES = `
Examples:
  $ imggen generate "a lighthouse at dusk" --sandbox   try it: free, no account
  $ imggen login --base-url https://example.com/api    store your key
  $ imggen generate "a red fox, watercolor" -m gamma-image-2 -r 16:9 -q 2K
  $ imggen models --ratio 21:9                         which model can do this?
  $ imggen resume                                      finish what was interrupted`;

/**
 * Builds the parser: with the command that is to run, in full; without one, with every command by name and summary.
 * @param inFull builds all of them in full, to describe them
 */
export async function buildProgram(
  argv: readonly string[],
  context: Context,
  outcome: { exitCode: number },
  onText: (text: string) => void,
  inFull = false,
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
      getOutHelpWidth: () => helpColumns(context.stdout),
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
  if (!inFull && chosen !== undefined && ![...Object.keys(COMMANDS), ...BUILT_IN].includes(chosen))
    throw (await import("./usage-error.ts")).unknownCommand(chosen, plainWords(argv));
  const isAlone = !inFull && chosen !== undefined && isCommand(chosen);
  for (const [name, entry] of Object.entries(COMMANDS)) {
    if (isAlone && name !== chosen) continue;
    const command = program.command(name).helpGroup(`${entry.group}:`);
    describeBriefly(command, entry.summary);
    if (inFull || name === chosen) (await entry.load()).register(command, runWith(argv, context, outcome));
  }
  addBuiltIn(program, onText);
  return program;
}

/** Every command takes them. The help of each shows the first alone, and that of the topic all. */
function addGeneratorOptions(program: Command): void {
  for (const { setting, value, help, isRepeatable } of GENERATOR_FLAGS) {
    const flags = value === null ? longFlag(setting) : `${longFlag(setting)} ${value}`;
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

function runWith(argv: readonly string[], context: Context, outcome: { exitCode: number }): RunWith {
  return (run) =>
    async (...args) => {
      const command = args.at(-1);
      const options: GlobalOptions = command instanceof Command ? command.optsWithGlobals() : {};
      const { Session } = await import("../session/session.ts");
      try {
        if (command instanceof Command) {
          refuseGlobals(command, options);
          await refuseEmptyPath(command);
        }
        outcome.exitCode = await run(new Session(context, options, argv), ...args);
      } catch (error) {
        throw command instanceof Command ? withHelpOf(command, error) : error;
      }
    };
}

/** @throws UsageError for a global flag that the command does not act on */
function refuseGlobals(command: Command, options: object): void {
  const [name = ""] = wordsOf(command);
  const [flag] = refusedGlobals(name).filter((each) => camelCase(each.slice(2)) in options);
  if (flag === undefined) return;
  throw new UsageError(`imggen ${name} does not act on ${flag}, so nothing was done.`, {
    hint: `Omit ${flag}.`,
  });
}

function camelCase(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** What each flag takes is loaded only where something is empty. @throws UsageError */
async function refuseEmptyPath(command: Command): Promise<void> {
  if (![...Object.values(command.opts()), ...command.args].flat().includes("")) return;
  const { emptyPathOf } = await import("../help/value-types.ts");
  const { requirePath } = await import("../../client/this-process.ts");
  const label = emptyPathOf(command);
  if (label !== undefined) requirePath("", label);
}

/** An error in a command's own arguments that has no better advice points to that command's help. */
function withHelpOf(command: Command, error: unknown): unknown {
  if (!(error instanceof UsageError) || error.hint !== null) return error;
  const hint = `See imggen ${wordsOf(command).join(" ")} --help.`;
  return new UsageError(error.message, { hint, cause: error });
}
