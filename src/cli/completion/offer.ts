import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { userFolders } from "../../client/user-folders.ts";
import type { Description } from "../help/command-tree.ts";
import type { Context } from "../session/context.ts";
import type { Console } from "../text/console.ts";
import {
  type Candidate,
  type CommandLine,
  type Completions,
  filterCandidates,
  NO_COMPLETIONS,
  readCommandLine,
  readFlag,
} from "./typed-line.ts";
import { type CompletionSources, commandNames, completeValue } from "./values.ts";

/**
 * Prints the kind of paths on the first line, then a candidate on each line, with its description after two spaces.
 * @param words the word at the cursor, then the words before it. The first word begins with `=`, because some shells
 * drop an empty word.
 */
export async function printCompletions(
  [current = "=", ...words]: readonly string[],
  console: Console,
  context: Context,
) {
  try {
    const tree = await readTree();
    const { paths, candidates } = await findCompletions(words, current.slice(1), {
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
    // A shell cannot show an error while the user types.
  }
}

/** The build has written the tree, because loading all commands takes too long. */
async function readTree(): Promise<Description> {
  const file = path.join(import.meta.dirname, "../commands.json");
  return JSON.parse(existsSync(file) ? readFileSync(file, "utf8") : await readEmbedded("commands.json"));
}

async function readEmbedded(name: string): Promise<string> {
  const { getAsset } = await import("node:sea");
  return getAsset(name, "utf8");
}

/** A file must be read for each task id, so their number is limited. */
const MAX_TASKS = 30;

async function latestTasks(which: "unfinished" | "all", context: Context): Promise<Candidate[]> {
  const [{ latestTasks }, { truncate }] = await Promise.all([
    import("../../client/listed-tasks.ts"),
    import("../../lib/short-text.ts"),
  ]);
  const tasks = await latestTasks(which, MAX_TASKS, { folders: userFolders(context), context });
  return tasks.map(({ id, state, prompt }) => {
    const shortPrompt = truncate(prompt, MAX_PROMPT_CHARACTERS);
    return { value: id, description: state === null ? shortPrompt : `${state}: ${shortPrompt}` };
  });
}

const MAX_PROMPT_CHARACTERS = 40;

/**
 * @param words words before the cursor, without the program's name
 * @param current typed part of the word at the cursor
 */
export async function findCompletions(
  words: readonly string[],
  current: string,
  sources: CompletionSources,
): Promise<Completions> {
  const line = readCommandLine(words, sources.tree);
  const { pendingOption, command, args, optionsEnded } = line;
  if (pendingOption) return completeValue(pendingOption, current, line, sources);
  if (!optionsEnded && /^--[^=]*=/.test(current)) return completeFlagValue(current, line, sources);
  if (!optionsEnded && current.startsWith("-")) return completeFlag(line, current);
  if (command.commands.length > 0)
    return args.length > 0 ? NO_COMPLETIONS : filterCandidates(commandNames(command.commands), current);
  const argument = command.arguments[args.length] ?? command.arguments.findLast(({ variadic }) => variadic);
  return argument ? completeValue(argument, current, line, sources) : NO_COMPLETIONS;
}

function completeFlag({ options, flags }: CommandLine, current: string): Completions {
  const availableOptions = options.filter(
    ({ long, repeatable }) => long.startsWith(current) && (repeatable || !flags.has(long)),
  );
  return {
    paths: "none",
    candidates: availableOptions.map(({ long, description }) => ({ value: long, description })),
  };
}

/** Completes a word such as `--model=…`. Shells replace the whole word, so candidates include the flag. */
async function completeFlagValue(
  current: string,
  line: CommandLine,
  sources: CompletionSources,
): Promise<Completions> {
  const { option, value } = readFlag(current, line.options);
  if (!option) return NO_COMPLETIONS;
  const { paths, candidates } = await completeValue(option, value ?? "", line, sources);
  return {
    paths,
    candidates: candidates.map((each) => ({ ...each, value: `${option.long}=${each.value}` })),
  };
}
