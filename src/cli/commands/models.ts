import type { Command } from "commander";
import { DEFAULT_IMAGES, listModels, needsSubscription } from "../../client/listed-models.ts";
import { MODEL_FILTER } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { groupedDigits } from "../../lib/whole-number.ts";
import type { Model } from "../../models/matrix.ts";
import { addOptions } from "../session/add-options.ts";
import type { Answer, RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { pieces, streamColumns, termLines, wrapWords } from "../text/fit.ts";
import type { TableColumn } from "../text/table.ts";

type ModelsFlags = FlagsOf<typeof MODEL_FILTER>;

const EXAMPLES = `
Examples:
  $ imggen models
  $ imggen models gamma-image-2
  $ imggen models --kind edit --ratio 16:9
  $ imggen models --quality 4K --json | jq -r '.[].id'`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[model]", "model to show in full (default: list all models)");
  addOptions(command, MODEL_FILTER).addHelpText("after", EXAMPLES).action(runWith(runModels));
}

async function runModels(session: Session, name: string | undefined, filter: ModelsFlags): Promise<Answer> {
  const { console } = session;
  const { models, model, names, undocumented, loaded, hasNone, leftOut } = await listModels(
    session,
    name,
    filter,
  );
  if (leftOut !== null) await console.warn(`The model list of the generator cannot be shown. ${leftOut}`);
  return { json: models, show };

  async function show(): Promise<void> {
    const described = models.filter(({ id }) => !names.has(id));
    const others = models.flatMap(({ id }) => (names.has(id) ? id : []));
    if (model && models.length > 0) await showModel(model, session);
    else if (models.length > 0) {
      if (described.length > 0) await showOverview(described, session);
      if (described.length > 0 && others.length > 0) await console.result("");
      if (others.length > 0) await console.result(others);
    } else if (hasNone) await console.note(NO_LIST);
    else await console.note("No documented model matches these options.");
    if (loaded !== null)
      await console.note(`Without --model, the generator uses the model that is already loaded: ${loaded}`);
    if (undocumented.length > 0)
      await console.note(`Undocumented models that may match: ${undocumented.join(", ")}`);
  }
}

const NO_LIST = "This generator has no list of models. The value of --model is sent unchanged.";

const REFERENCES: TableColumn = { heading: "REFS" };
const IMAGES: TableColumn = { heading: "IMAGES" };
const COLUMNS: readonly TableColumn[] = [
  { heading: "MODEL", required: true },
  { heading: "KIND" },
  { heading: "RATIOS", omitFirst: true },
  { heading: "QUALITIES", neverCut: true },
  IMAGES,
  REFERENCES,
  { heading: "CREDITS", required: true },
];

const legend = (leftOut: readonly TableColumn[]): string[] => [
  `?: not documented.${leftOut.includes(REFERENCES) ? "" : " REFS: reference images (*: only https URLs)."}`,
  ...(leftOut.includes(IMAGES) ? [] : ["IMAGES: number without --max-images (and the maximum)."]),
  "CREDITS: one for each of QUALITIES, in their order (+: requires a subscription).",
  "To show one model in full: imggen models <model>",
];

async function showOverview(models: readonly Model[], session: Session): Promise<void> {
  const rows = models.map((model) => [
    model.id,
    kindCell(model.kinds),
    model.ratios === null ? "?" : String(model.ratios.length),
    model.qualities === null ? "?" : listText(model.qualities),
    imagesCell(model.maxImages),
    referencesCell(model.references),
    creditsCell(model),
  ]);
  const { showTable } = await import("../text/table.ts");
  const leftOut = await showTable(COLUMNS, rows, session);
  const columns = streamColumns(session.context.stdout);
  const legendLines = legend(leftOut).flatMap((line) =>
    wrapWords(pieces(line), { columns, indent: 0, hanging: 2 }),
  );
  await session.console.result(["", ...legendLines]);
}

function imagesCell(maxImages: number | null): string {
  if (maxImages === null) return "?";
  return maxImages > 1 ? `${defaultImages(maxImages)} (${maxImages})` : String(maxImages);
}

function creditsCell(model: Model): string {
  const { credits } = model;
  const text = credits === null ? "?" : creditsText(credits).replaceAll(/\w+:/g, "");
  return needsSubscription(model) ? `${text} +` : text;
}

function defaultImages(maxImages: number): number {
  return Math.min(maxImages, DEFAULT_IMAGES);
}

function imagesText(maxImages: number | null): string {
  if (maxImages === null) return UNDOCUMENTED;
  return maxImages > 1 ? `${defaultImages(maxImages)} by default, up to ${maxImages} with --max-images` : "1";
}

function kindCell(kinds: Model["kinds"]): string {
  if (kinds === null) return "?";
  return kinds.length > 1 ? "both" : (kinds[0]?.replace("text-to-image", "text") ?? "none");
}

function referencesCell(references: Model["references"]): string {
  if (references === null) return "?";
  const { min, max, httpsOnly } = references;
  if (max === 0) return "none";
  return `${max === null ? `${min}+` : `${min}-${max}`}${httpsOnly ? "*" : ""}`;
}

async function showModel(model: Model, session: Session): Promise<void> {
  const style = session.console.style("stdout");
  const columns = streamColumns(session.context.stdout);
  const lines = modelDetails(model).flatMap(([name, text]) =>
    termLines(`  ${name}`, [text.split(" ")], { columns, textColumn: 19, minTextColumns: 20, indent: 6 }),
  );
  await session.console.result([model.id, ...lines], (line, at) =>
    at === 0 ? style("heading", line) : line,
  );
}

function modelDetails(model: Model): [string, string][] {
  return [
    ["kind", listText(model.kinds)],
    ["ratios", listText(model.ratios)],
    ["default ratio", model.defaultRatio ?? UNDOCUMENTED],
    ["qualities", listText(model.qualities)],
    ["default quality", model.defaultQuality ?? UNDOCUMENTED],
    ["images", imagesText(model.maxImages)],
    ["prompt", promptText(model)],
    ["references", referencesText(model.references)],
    ["credits", creditsText(model.credits)],
    ...model.notes.map((note): [string, string] => ["note", note]),
  ];
}

function promptText({ promptLimit }: Model): string {
  return promptLimit === null ? UNDOCUMENTED : `up to ${groupedDigits(promptLimit)} characters`;
}

const UNDOCUMENTED = "not documented";

function listText(values: readonly string[] | null): string {
  if (values === null) return UNDOCUMENTED;
  return values.length === 0 ? "none" : values.join(" ");
}

function referencesText(references: Model["references"]): string {
  if (references === null) return UNDOCUMENTED;
  const { min, max, httpsOnly } = references;
  if (max === 0) return "none";
  return `${max === null ? `${min} or more` : `${min} to ${max}`}${httpsOnly ? ", https only" : ""}`;
}

function creditsText(credits: Model["credits"]): string {
  if (credits === null) return UNDOCUMENTED;
  const entries = Object.entries(credits);
  if (entries.length === 1) return String(entries[0]?.[1]);
  return entries
    .filter(([quality]) => quality !== "default")
    .map(([quality, cost]) => `${quality}:${cost}`)
    .join(" ");
}
