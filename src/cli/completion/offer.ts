import { among, NOTHING, type Offer } from "./candidates.ts";
import { type CommandLine, readCommandLine, readFlag } from "./command-line.ts";
import { commandNames, type Sources, valuesOf } from "./values.ts";

/**
 * What a shell offers for the word at the cursor.
 * @param words those before it, without the program's name
 * @param current what of it is typed already
 */
export async function offer(words: readonly string[], current: string, from: Sources): Promise<Offer> {
  const line = readCommandLine(words, from.tree);
  const { awaits, command, args, optionsEnded } = line;
  if (awaits) return valuesOf(awaits, current, line, from);
  if (!optionsEnded && /^--[^=]*=/.test(current)) return valueInFlag(current, line, from);
  if (!optionsEnded && current.startsWith("-")) return flagsOf(line, current);
  if (command.commands.length > 0)
    return args.length > 0 ? NOTHING : among(commandNames(command.commands), current);
  const argument = command.arguments[args.length] ?? command.arguments.findLast(({ variadic }) => variadic);
  return argument ? valuesOf(argument, current, line, from) : NOTHING;
}

function flagsOf({ options, given }: CommandLine, current: string): Offer {
  const open = options.filter(
    ({ long, repeatable }) => long.startsWith(current) && (repeatable || !given.has(long)),
  );
  return { paths: "none", candidates: open.map(({ long, description }) => ({ value: long, description })) };
}

/** `--model=…`: the whole word is what a shell replaces. */
async function valueInFlag(current: string, line: CommandLine, from: Sources): Promise<Offer> {
  const { option, value } = readFlag(current, line.options);
  if (!option) return NOTHING;
  const { paths, candidates } = await valuesOf(option, value ?? "", line, from);
  return {
    paths,
    candidates: candidates.map((each) => ({ ...each, value: `${option.long}=${each.value}` })),
  };
}
