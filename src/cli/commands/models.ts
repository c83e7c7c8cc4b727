import type { Command } from "commander";
import { UsageError } from "../../lib/errors.ts";
import { InvalidRequestError } from "../../models/errors.ts";
import { findModels, type ModelFilter, nearestModels, resolveModel } from "../../models/find.ts";
import type { Kind, Model } from "../../models/matrix.ts";
import type { RunWith } from "../app/command.ts";
import type { Session } from "../app/session.ts";
import { wholeNumberOption } from "../flags/values.ts";

interface ModelsOptions {
  kind?: string;
  ratio?: string;
  quality?: string;
  references?: string;
}

const EXAMPLES = `
Examples:
  $ imggen models
  $ imggen models gamma-image-2
  $ imggen models --kind edit --ratio 16:9
  $ imggen models --quality 4K --json | jq -r '.[].id'`;

/** By what users call them: the table's words, and the service's. */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ["text", "text-to-image"],
  ["text-to-image", "text-to-image"],
  ["edit", "edit"],
  ["image-to-image", "edit"],
]);

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("[model]", "show one model in full")
    .option("--kind <kind>", "only models that make images from text, or edit images: text or edit")
    .option("--ratio <w:h>", "only models that support this aspect ratio")
    .option("--quality <quality>", "only models that support this quality")
    .option("--references <n>", "only models that take this many reference images")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runModels));
}

async function runModels(
  session: Session,
  name: string | undefined,
  options: ModelsOptions,
): Promise<number> {
  const { matching, undocumented } = findModels(filterOf(options));
  const chosen = name === undefined ? null : requireModel(name);
  const models = chosen ? matching.filter(({ id }) => id === chosen.id) : matching;
  if (session.options.json) {
    await session.json(models);
    return 0;
  }
  const [format, { table }] = await Promise.all([
    import("../output/colors.ts"),
    import("../output/table.ts"),
  ]);
  const { context, options: flags } = session;
  const paint = format.headingPaint(format.colorsFor(context.stdout, context.env, flags.color !== false));
  if (chosen && models.length > 0) await session.console.result(describe(chosen), paint);
  else if (models.length > 0) await session.console.result(overview(models, table), paint);
  else await session.console.note("No model is documented to do this.");
  const open = chosen ? [] : undocumented.map(({ id }) => id);
  if (open.length > 0) await session.console.note(`Not documented, so it may work: ${open.join(", ")}`);
  return 0;
}

function filterOf({ kind, ratio, quality, references }: ModelsOptions): ModelFilter {
  return {
    ...(kind !== undefined && { kind: kindOf(kind) }),
    ...(ratio !== undefined && { ratio }),
    ...(quality !== undefined && { quality }),
    ...(references !== undefined && {
      references: wholeNumberOption("--references", references, { min: 0 }),
    }),
  };
}

function kindOf(word: string): Kind {
  const kind = KINDS.get(word.toLowerCase());
  if (kind === undefined) throw new UsageError(`--kind ${JSON.stringify(word)} is neither text nor edit.`);
  return kind;
}

function requireModel(name: string): Model {
  const model = resolveModel(name);
  if (model) return model;
  throw new InvalidRequestError(`There is no model ${JSON.stringify(name)}.`, {
    hint: `The nearest are ${nearestModels(name).join(", ")}.`,
  });
}

const UNDOCUMENTED = "not documented";

/** A list as text: what the document denies is "none", what it does not say is said to be so. */
function listed(values: readonly string[] | null): string {
  if (values === null) return UNDOCUMENTED;
  return values.length === 0 ? "none" : values.join(" ");
}

function referencesText(references: Model["references"]): string {
  if (references === null) return UNDOCUMENTED;
  const { min, max, httpsOnly } = references;
  if (max === 0) return "none";
  return `${max === null ? `${min} or more` : `${min} to ${max}`}${httpsOnly ? ", https only" : ""}`;
}

/** Prices by quality; a price for a request without one is named so where others stand beside it. */
function creditsText(credits: Model["credits"]): string {
  if (credits === null) return UNDOCUMENTED;
  const entries = Object.entries(credits);
  if (entries.length === 1) return String(entries[0]?.[1]);
  return entries
    .filter(([quality]) => quality !== "default")
    .map(([quality, cost]) => `${quality}:${cost}`)
    .join(" ");
}

function overview(models: readonly Model[], table: typeof import("../output/table.ts").table): string[] {
  const headings = ["MODEL", "KIND", "RATIOS", "QUALITIES", "IMAGES", "REFERENCES", "CREDITS"];
  const short = (text: string) => (text === UNDOCUMENTED ? "?" : text);
  const rows = models.map((model) => [
    model.id,
    short(listed(model.kinds)).replace("text-to-image", "text"),
    model.ratios === null ? "?" : String(model.ratios.length),
    short(listed(model.qualities)),
    model.maxImages === null ? "?" : String(model.maxImages),
    short(referencesText(model.references)),
    short(creditsText(model.credits)).replaceAll(/\w+:/g, ""),
  ]);
  const legend =
    "? not documented. Credits are in the order of the qualities. One model in full: imggen models <model>";
  return [...table(headings, rows), "", legend];
}

function describe(model: Model): string[] {
  const facts: [string, string][] = [
    ["kind", listed(model.kinds)],
    ["ratios", listed(model.ratios)],
    ["default ratio", model.defaultRatio ?? UNDOCUMENTED],
    ["qualities", listed(model.qualities)],
    ["default quality", model.defaultQuality ?? UNDOCUMENTED],
    [
      "images",
      model.maxImages === null ? UNDOCUMENTED : `1${model.maxImages > 1 ? ` to ${model.maxImages}` : ""}`,
    ],
    ["prompt", `up to ${model.promptLimit.toLocaleString("en")} characters`],
    ["references", referencesText(model.references)],
    ["credits", creditsText(model.credits)],
    ...model.notes.map((note): [string, string] => ["note", note]),
  ];
  return [model.id, ...facts.map(([name, text]) => `  ${name.padEnd(16)} ${text}`)];
}
