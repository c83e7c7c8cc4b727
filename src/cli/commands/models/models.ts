import type { Command } from "commander";
import { MODEL_FILTER } from "../../../client/options/command-table.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import type { Target } from "../../../client/targets/target.ts";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import { ImggenError, UsageError } from "../../../lib/error-types.ts";
import { findModels, KIND_WORDS, type ModelFilter, nearestText, resolveModel } from "../../../models/find.ts";
import type { Matrix, Model } from "../../../models/matrix.ts";
import { unknownQuality } from "../../../models/rules/quality.ts";
import { malformedRatio } from "../../../models/rules/ratio.ts";
import { FLAG_LABELS, type Refusal } from "../../../models/rules/rule.ts";
import { addOptions } from "../../session/add-options.ts";
import type { RunWith } from "../../session/command.ts";
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

async function runModels(session: Session, name: string | undefined, options: ModelsFlags): Promise<number> {
  const target = await targetInEffect(session);
  const fromMatrix = await target.matrix();
  const { others, loaded } = await othersOf(target, fromMatrix, session);
  const matrix = [...fromMatrix, ...others];
  const { matching, undocumented } = findModels(filterOf(options), matrix);
  const chosen = name === undefined ? null : requireModel(name, matrix);
  const models = chosen ? matching.filter(({ id }) => id === chosen.id) : matching;
  if (session.options.json) {
    await session.console.json(models);
    return 0;
  }
  const { showModel, showOverview } = await import("./model-table.ts");
  // Of the others only the name is known.
  const described = models.filter((model) => !others.includes(model));
  const names = models.filter((model) => others.includes(model)).map(({ id }) => id);
  if (chosen && models.length > 0) await showModel(chosen, session);
  else if (models.length > 0) {
    if (described.length > 0) await showOverview(described, session);
    if (described.length > 0 && names.length > 0) await session.console.result("");
    if (names.length > 0) await session.console.result(names);
  } else if (target.kind === "generator" && matrix.length === 0) await session.console.note(NO_LIST);
  else await session.console.note("No model is documented to do this.");
  if (loaded !== null && name === undefined)
    await session.console.note(`Loaded, and used for requests without --model: ${loaded}`);
  const open = chosen ? [] : undocumented.map(({ id }) => id);
  if (open.length > 0) await session.console.note(`Not documented, so it may work: ${open.join(", ")}`);
  return 0;
}

/** The models of the user's own generator. */
interface Others {
  /** Models of which only the name is known. */
  others: readonly Model[];
  loaded: string | null;
}

const NO_OTHERS: Others = { others: [], loaded: null };

/** @throws ImggenError */
async function othersOf(target: Target, fromMatrix: Matrix, session: Session): Promise<Others> {
  const offer = await target.models().catch(async (error) => {
    if (!(error instanceof ImggenError) || fromMatrix.length === 0) throw error;
    await session.console.warn(`Its own list is left out. ${error.message}`);
    return null;
  });
  if (offer === null) return NO_OTHERS;
  const { unknownToUs } = await import("../../../models/check-request.ts");
  const names = (offer.names ?? []).filter((name) => !fromMatrix.some(({ id }) => id === name));
  return { others: names.map(unknownToUs), loaded: offer.loaded };
}

const NO_LIST = "This generator has no list of models: a name that is given with --model is handed on to it.";

/** A ratio that the document does not name may be one that a model without documented ratios takes. @throws UsageError */
function filterOf({ kind, ratio, quality, references }: ModelsFlags): ModelFilter {
  if (ratio !== undefined) refuse(malformedRatio(ratio, FLAG_LABELS.ratio));
  if (quality !== undefined) refuse(unknownQuality(quality, FLAG_LABELS.quality));
  return {
    kind: kind === undefined ? undefined : KIND_WORDS.get(kind),
    ratio,
    quality,
    references,
  };
}

function refuse(refusal: Refusal | null): void {
  if (refusal) throw new UsageError(`${refusal.message}.`, { hint: refusal.hint });
}

function requireModel(name: string, matrix: Matrix): Model {
  const model = resolveModel(name, matrix);
  if (model) return model;
  const nearest = nearestText(name, matrix);
  throw new UsageError(`There is no model ${JSON.stringify(name)}${nearest && `; ${nearest}`}.`, {
    hint: "To see all models: imggen models",
  });
}
