import type { Command } from "commander";
import { listModels } from "../../../client/listed-models.ts";
import { MODEL_FILTER } from "../../../client/options/command-table.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { addOptions } from "../../session/add-options.ts";
import type { Answer, RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";

type ModelsFlags = FlagsOf<typeof MODEL_FILTER>;

const EXAMPLES = `
Examples:
  $ imggen models
  $ imggen models gamma-image-2
  $ imggen models --kind edit --ratio 16:9
  $ imggen models --quality 4K --json | jq -r '.[].id'`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[model]", "show one model in full");
  addOptions(command, MODEL_FILTER).addHelpText("after", EXAMPLES).action(runWith(runModels));
}

async function runModels(session: Session, name: string | undefined, filter: ModelsFlags): Promise<Answer> {
  const { console } = session;
  const { models, chosen, names, undocumented, loaded, hasNone, leftOut } = await listModels(
    session,
    name,
    filter,
  );
  if (leftOut !== null) await console.warn(`Its own list is left out. ${leftOut}`);
  return { json: models, show };

  async function show(): Promise<void> {
    const { showModel, showOverview } = await import("./model-table.ts");
    const described = models.filter(({ id }) => !names.has(id));
    const others = models.flatMap(({ id }) => (names.has(id) ? id : []));
    if (chosen && models.length > 0) await showModel(chosen, session);
    else if (models.length > 0) {
      if (described.length > 0) await showOverview(described, session);
      if (described.length > 0 && others.length > 0) await console.result("");
      if (others.length > 0) await console.result(others);
    } else if (hasNone) await console.note(NO_LIST);
    else await console.note("No model is documented to do this.");
    if (loaded !== null) await console.note(`Loaded, and used for requests without --model: ${loaded}`);
    if (undocumented.length > 0)
      await console.note(`Not documented, so it may work: ${undocumented.join(", ")}`);
  }
}

const NO_LIST = "This generator has no list of models: a name that is given with --model is handed on to it.";
