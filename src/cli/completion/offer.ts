import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { userFolders } from "../../client/user-folders.ts";
import type { Description } from "../help/command-tree.ts";
import type { Context } from "../session/context.ts";
import type { Console } from "../text/console.ts";
import {
  among,
  type Candidate,
  type CommandLine,
  NOTHING,
  type Offer,
  readCommandLine,
  readFlag,
} from "./typed-line.ts";
import { commandNames, offerValues, type Sources } from "./values.ts";

/**
 * Answers a shell: on the first line which paths to offer, then a word on each line, with its description after two
 * spaces. On an error it offers nothing, because a shell cannot show one while the user types.
 * @param words `=` and the word at the cursor (never empty, because some shells drop an empty one), then those before
 */
export async function answerShell(
  [at = "=", ...words]: readonly string[],
  console: Console,
  context: Context,
) {
  try {
    const tree = await readTree();
    const { paths, candidates } = await offer(words, at.slice(1), {
      tree,
      findTasks: (which) => latestTasks(which, context),
      async findProfiles() {
        const { profileNames } = await import("../../client/profiles.ts");
        return profileNames(userFolders(context).config);
      },
      async findModels(profile) {
        const { Session } = await import("../session/session.ts");
        const { targetInEffect } = await import("../../client/targets/target-in-effect.ts");
        const session = new Session(context, console, profile === undefined ? {} : { profile }, []);
        return (await targetInEffect(session)).matrix();
      },
    });
    const lines = candidates.map(({ value, description }) =>
      description === "" ? value : `${value}  ${description.split("\n")[0]}`,
    );
    await console.result([paths, ...lines]);
  } catch {
    // As said above.
  }
}

/** The build writes it: to load every command for a key press would take too long. */
async function readTree(): Promise<Description> {
  const file = path.join(import.meta.dirname, "../commands.json");
  return JSON.parse(existsSync(file) ? readFileSync(file, "utf8") : await inExecutable("commands.json"));
}

/** A file that a single executable holds. */
async function inExecutable(name: string): Promise<string> {
  const { getAsset } = await import("node:sea");
  return getAsset(name, "utf8");
}

/** The most task ids that are offered: about a screen of them. Each is a file to read. */
const MAX_TASKS = 30;

/** The latest tasks of the ledger, newest first: by their ids, with where they stand and what they were asked for. */
async function latestTasks(which: "unfinished" | "all", context: Context): Promise<Candidate[]> {
  const [{ latestTasks }, { truncate: shortened }] = await Promise.all([
    import("../../client/listed-tasks.ts"),
    import("../../lib/short-text.ts"),
  ]);
  const tasks = await latestTasks(which, MAX_TASKS, { folders: userFolders(context), context });
  return tasks.map(({ id, state: word, prompt }) => {
    const short = shortened(prompt, MAX_PROMPT_CHARACTERS);
    return { value: id, description: word === null ? short : `${word}: ${short}` };
  });
}

const MAX_PROMPT_CHARACTERS = 40;

/**
 * Candidates for the word at the cursor.
 * @param words those before it, without the program's name
 * @param current the part of it that is typed already
 */
export async function offer(words: readonly string[], current: string, from: Sources): Promise<Offer> {
  const line = readCommandLine(words, from.tree);
  const { awaits, command, args, optionsEnded } = line;
  if (awaits) return offerValues(awaits, current, line, from);
  if (!optionsEnded && /^--[^=]*=/.test(current)) return valueInFlag(current, line, from);
  if (!optionsEnded && current.startsWith("-")) return offerFlags(line, current);
  if (command.commands.length > 0)
    return args.length > 0 ? NOTHING : among(commandNames(command.commands), current);
  const argument = command.arguments[args.length] ?? command.arguments.findLast(({ variadic }) => variadic);
  return argument ? offerValues(argument, current, line, from) : NOTHING;
}

function offerFlags({ options, flags }: CommandLine, current: string): Offer {
  const open = options.filter(
    ({ long, repeatable }) => long.startsWith(current) && (repeatable || !flags.has(long)),
  );
  return { paths: "none", candidates: open.map(({ long, description }) => ({ value: long, description })) };
}

/** `--model=…`: the whole word is what a shell replaces. */
async function valueInFlag(current: string, line: CommandLine, from: Sources): Promise<Offer> {
  const { option, value } = readFlag(current, line.options);
  if (!option) return NOTHING;
  const { paths, candidates } = await offerValues(option, value ?? "", line, from);
  return {
    paths,
    candidates: candidates.map((each) => ({ ...each, value: `${option.long}=${each.value}` })),
  };
}
