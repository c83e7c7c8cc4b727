import { readFileSync } from "node:fs";
import path from "node:path";
import { InterruptedError } from "../../lib/interrupted.ts";
import { VERSION } from "../../lib/version.ts";
import { COMMAND_WORDS } from "../../lib/wording.ts";
import { ASK } from "../session/command.ts";
import type { Context } from "../session/context.ts";
import { headingPaint, loadColors } from "../text/colors.ts";
import { Console } from "../text/console.ts";
import type { OutputStream } from "../text/output-stream.ts";

const VERSION_WORDS: ReadonlySet<string | undefined> = new Set(["--version", "-V", "version"]);
const HELP_WORDS: ReadonlySet<string | undefined> = new Set(["--help", "-h"]);

/**
 * Runs one command line. Every outcome ends here: as an exit code, with the result on standard output and a failure
 * as one message on standard error.
 * @param beforeLoading called before more code is loaded than the version or the help needs
 */
export async function run(
  argv: readonly string[],
  context: Context,
  beforeLoading: () => void = () => {},
): Promise<number> {
  // Read by hand, because an error in the command line itself is reported as JSON too.
  const end = argv.indexOf("--");
  const flags = end === -1 ? argv : argv.slice(0, end);
  const json = flags.includes("--json");
  const events = flags.some(
    (word, at) => word === "--progress=json" || (word === "json" && flags[at - 1] === "--progress"),
  );
  const [quiet, color] = [flags.includes("--quiet"), !flags.includes("--no-color")];
  const shown = { json, verbose: flags.includes("--verbose") };
  const console = new Console(context, { quiet, color, events });
  context.onSecondSignal = async ({ signal }) => {
    if (console.hasAnswered) return;
    const { awaited } = console;
    const history = "To see what was begun, and its cost: imggen history";
    const { givenUpText } = await import("../text/phrases.ts");
    const next = awaited.length > 0 ? givenUpText(awaited) : "To finish it: imggen resume";
    const error = new InterruptedError(signal, { charged: "unknown", hint: `${history}\n${next}` });
    // The command may still answer while this is written, which would be a second document.
    await console.finish((last) => reportFailure(error, shown, last));
  };
  try {
    if (argv.length === 1 && VERSION_WORDS.has(argv[0])) {
      // Scripts ask for it alone, and it needs no parser.
      await console.result(VERSION);
      return 0;
    }
    const help = argv.length === 1 && HELP_WORDS.has(argv[0]) ? writtenHelp(context.stdout) : null;
    if (help !== null) {
      await loadColors([context.stdout], context.env);
      await console.result(help, headingPaint(console.style("stdout")));
      return 0;
    }
    beforeLoading();
    await loadColors([context.stdout, context.stderr], context.env);
    if (argv[0] === ASK) {
      const { answerShell } = await import("../completion/offer.ts");
      await answerShell(argv.slice(1), console, context);
      return 0;
    }
    const { parseAndRun } = await import("./parse.ts");
    return await parseAndRun(argv, { flags, json }, console, context);
  } catch (error) {
    return await reportFailure(error, shown, console);
  }
}

async function reportFailure(
  error: unknown,
  { json, verbose }: { json: boolean; verbose: boolean },
  console: Console,
): Promise<number> {
  const { describeFailure } = await import("../../client/failure.ts");
  const { failureLines } = await import("../text/phrases.ts");
  const failure = describeFailure(error, COMMAND_WORDS);
  if (json) {
    const told = console.json(failure);
    // Standard output itself failed, so standard error is used.
    await told.catch(() => console.error(failureLines(failure)));
  } else {
    await console.error(failureLines(failure, { verbose }));
  }
  return failure.error.exitCode;
}

/** Width of the help that the build writes. */
const WRITTEN_COLUMNS = 80;

/**
 * The program's help as the build wrote it: reading it is faster than building the command tree.
 * @returns null for a terminal that is narrower, or if nothing was built
 */
function writtenHelp({ columns }: OutputStream): string[] | null {
  if (columns && columns < WRITTEN_COLUMNS) return null;
  try {
    return readFileSync(path.join(import.meta.dirname, "help.txt"), "utf8")
      .trimEnd()
      .split("\n");
  } catch {
    return null;
  }
}
