import { InterruptedError } from "../../lib/interrupted.ts";
import { COMMAND_VOCABULARY } from "../../lib/wording.ts";
import { COMPLETE_COMMAND } from "../session/command.ts";
import type { Context } from "../session/context.ts";
import { loadColors } from "../text/colors.ts";
import { Console } from "../text/console.ts";

export async function run(argv: readonly string[], context: Context): Promise<number> {
  // These flags are found without the parser, because they also apply to errors of the parser.
  const end = argv.indexOf("--");
  const flags = end === -1 ? argv : argv.slice(0, end);
  const json = flags.includes("--json");
  const events = flags.some(
    (word, at) => word === "--progress=json" || (word === "json" && flags[at - 1] === "--progress"),
  );
  const [quiet, color] = [flags.includes("--quiet"), !flags.includes("--no-color")];
  const format = { json, verbose: flags.includes("--verbose") };
  const console = new Console(context, { quiet, color, events });
  context.onSecondSignal = async ({ signal }) => {
    if (console.hasResult) return;
    const { pendingReplies } = console;
    const history = "To list the tasks and their cost: imggen history";
    const { givenUpText } = await import("../text/phrases.ts");
    const next =
      pendingReplies.length > 0 ? givenUpText(pendingReplies) : "To finish the tasks: imggen resume";
    const error = new InterruptedError(signal, { charged: "unknown", hint: `${history}\n${next}` });
    // `finish` drops a later result of the command, because that result would be a second JSON document.
    await console.finish((last) => reportFailure(error, format, last));
  };
  try {
    await loadColors([context.stdout, context.stderr], context.env);
    if (argv[0] === COMPLETE_COMMAND) {
      const { printCompletions } = await import("../completion/offer.ts");
      await printCompletions(argv.slice(1), console, context);
      return 0;
    }
    const { parseAndRun } = await import("./parse.ts");
    return await parseAndRun(argv, { flags, json }, console, context);
  } catch (error) {
    return await reportFailure(error, format, console);
  }
}

async function reportFailure(
  error: unknown,
  { json, verbose }: { json: boolean; verbose: boolean },
  console: Console,
): Promise<number> {
  const { describeFailure } = await import("../../client/failure.ts");
  const { failureLines } = await import("../text/phrases.ts");
  const failure = describeFailure(error, COMMAND_VOCABULARY);
  if (json) {
    const output = console.json(failure);
    await output.catch(() => console.error(failureLines(failure)));
  } else {
    await console.error(failureLines(failure, { verbose }));
  }
  return failure.error.exitCode;
}
