import { readFileSync } from "node:fs";
import path from "node:path";
import { foldersOf } from "../../client/folders.ts";
import type { Context } from "../app/context.ts";
import type { Description } from "../help/describe.ts";
import type { Console } from "../output/console.ts";
import { offer } from "./offer.ts";
import type { Sources } from "./values.ts";

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
    const tree = readTree();
    const findTasks: Sources["findTasks"] = async (which) => {
      const { latestTasks } = await import("./latest-tasks.ts");
      return latestTasks(which, context);
    };
    const findProfiles = async () => {
      const { profileNames } = await import("../../client/profiles.ts");
      return profileNames(foldersOf(context).config);
    };
    const findModels: Sources["findModels"] = async (profile) => {
      const { Session } = await import("../app/session.ts");
      return new Session(context, profile === undefined ? {} : { profile }, []).matrix();
    };
    const { paths, candidates } = await offer(words, at.slice(1), {
      tree,
      findTasks,
      findModels,
      findProfiles,
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
function readTree(): Description {
  return JSON.parse(readFileSync(path.join(import.meta.dirname, "../commands.json"), "utf8"));
}
