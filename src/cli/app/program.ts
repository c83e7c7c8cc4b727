import { Command } from "commander";
import { UsageError } from "../../lib/errors.ts";
import { VERSION } from "../../lib/version.ts";
import type { CommandModule, RunWith } from "./command.ts";
import type { Context } from "./context.ts";
import type { GlobalOptions } from "./session.ts";

interface CommandEntry {
  summary: string;
  load: () => Promise<CommandModule>;
}

/** The command tree. A command's code is loaded when it is the one to run. */
const COMMANDS: Record<string, CommandEntry> = {
  generate: {
    summary: "generate an image from a prompt and save it",
    load: () => import("../commands/generate.ts"),
  },
  status: { summary: "show the status of tasks", load: () => import("../commands/status.ts") },
  resume: {
    summary: "finish charged tasks that were not saved",
    load: () => import("../commands/resume/resume.ts"),
  },
  history: {
    summary: "list the tasks charged from this machine",
    load: () => import("../commands/history.ts"),
  },
  rerun: {
    summary: "submit the request of an image or task again (charged again)",
    load: () => import("../commands/rerun.ts"),
  },
  batch: {
    summary: "generate many images from a manifest; run it again to resume",
    load: () => import("../commands/batch/batch.ts"),
  },
  compare: {
    summary: "generate one prompt with several models, ratios and qualities",
    load: () => import("../commands/compare/compare.ts"),
  },
  models: {
    summary: "show what each model can do, and what it costs",
    load: () => import("../commands/models.ts"),
  },
  login: { summary: "store the API key and the base URL", load: () => import("../commands/login.ts") },
  logout: { summary: "remove the API key and the base URL", load: () => import("../commands/logout.ts") },
  config: { summary: "show and change settings", load: () => import("../commands/config.ts") },
  sandbox: {
    summary: "serve the whole API on this machine, free",
    load: () => import("../commands/sandbox.ts"),
  },
};

const EXAMPLES = `
Examples:
  $ imggen generate "a lighthouse at dusk" --sandbox     try it: no account, no network
  $ imggen login --base-url https://example.com/api      store your key
  $ imggen generate "a red fox, watercolor" -m gamma-image-2 -r 16:9 -q 2K
  $ imggen models --ratio 21:9                           which model can do this?
  $ imggen resume                                        finish what was interrupted`;

/** Builds the parser: every command by name and summary, and the one that is to run in full. */
export async function buildProgram(
  argv: readonly string[],
  context: Context,
  outcome: { exitCode: number },
  onText: (text: string) => void,
): Promise<Command> {
  const program = new Command("imggen")
    .description(
      "Generate images from the command line.\nIt never charges a request twice by itself, and never loses a charged image.",
    )
    .version(VERSION, "--version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .option("--json", "print exactly one JSON document on standard output")
    .option("--quiet", "print only errors on standard error")
    .option("--verbose", "log HTTP requests")
    .option("--no-color", "disable colours")
    .option("--sandbox", "use the embedded sandbox instead of the service (free, no account)")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: onText,
      writeErr: () => {},
      getOutHelpWidth: () => Math.min(context.stdout.columns ?? 100, 110),
      // Help has no colours; asking Node whether it could have them would open its streams.
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .addHelpText("after", EXAMPLES)
    .action(() => {
      throw new UsageError("No command was given.", { hint: "See imggen --help." });
    });
  const chosen = chosenCommand(argv);
  if (chosen !== undefined && !Object.hasOwn(COMMANDS, chosen)) throw await unknownCommand(chosen);
  for (const [name, entry] of Object.entries(COMMANDS)) {
    const command = program.command(name).summary(entry.summary).description(sentence(entry.summary));
    if (name === chosen) (await entry.load()).register(command, runWith(argv, context, outcome));
  }
  return program;
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

async function unknownCommand(word: string): Promise<UsageError> {
  const { editDistance } = await import("../../models/edit-distance.ts");
  const near = Object.keys(COMMANDS).find((name) => name.startsWith(word) || editDistance(name, word) <= 2);
  const hint = near ? `Did you mean imggen ${near}?` : "See imggen --help.";
  return new UsageError(`There is no command ${JSON.stringify(word)}.`, { hint });
}

/** The command that a command line names: global flags take no value, so it is the first word without a dash. */
function chosenCommand(argv: readonly string[]): string | undefined {
  const words = argv.filter((word) => !word.startsWith("-"));
  return words[0] === "help" ? words[1] : words[0];
}

function runWith(argv: readonly string[], context: Context, outcome: { exitCode: number }): RunWith {
  return (run) =>
    async (...args) => {
      const command = args.at(-1);
      const options: GlobalOptions = command instanceof Command ? command.optsWithGlobals() : {};
      const { Session } = await import("./session.ts");
      outcome.exitCode = await run(new Session(context, options, argv), ...args);
    };
}
