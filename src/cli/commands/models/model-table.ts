import { IMAGES_BY_DEFAULT, needsSubscription } from "../../../client/known-values.ts";
import { groupedDigits } from "../../../lib/whole-number.ts";
import type { Model } from "../../../models/matrix.ts";
import type { Session } from "../../session/session.ts";
import { besideTerm, pieces, roomOn, wrapWords } from "../../text/fit.ts";
import type { TableColumn } from "../../text/table.ts";
import { showTable } from "../../text/table.ts";

const REFERENCES: TableColumn = { heading: "REFS" };
const IMAGES: TableColumn = { heading: "IMAGES" };
const COLUMNS: readonly TableColumn[] = [
  { heading: "MODEL", keep: true },
  { heading: "KIND" },
  { heading: "RATIOS", spare: true },
  { heading: "QUALITIES", whole: true },
  IMAGES,
  REFERENCES,
  { heading: "CREDITS", keep: true },
];

/** Explains the columns that are shown. */
const legendOf = (leftOut: readonly TableColumn[]): string[] => [
  `? not documented.${leftOut.includes(REFERENCES) ? "" : " REFS: reference images, * by https only."}`,
  ...(leftOut.includes(IMAGES) ? [] : ["IMAGES: made unless --max-images says otherwise (and the most)."]),
  "CREDITS: in the order of the qualities; + needs a subscription.",
  "One model in full: imggen models <model>",
];

/** A line for each model. */
export async function showOverview(models: readonly Model[], session: Session): Promise<void> {
  const rows = models.map((model) => [
    model.id,
    kindCell(model.kinds),
    model.ratios === null ? "?" : String(model.ratios.length),
    model.qualities === null ? "?" : listed(model.qualities),
    imagesCell(model.maxImages),
    referencesCell(model.references),
    creditsCell(model),
  ]);
  const leftOut = await showTable(COLUMNS, rows, session);
  const columns = roomOn(session.context.stdout);
  const legend = legendOf(leftOut).flatMap((line) =>
    wrapWords(pieces(line), { columns, indent: 0, hanging: 2 }),
  );
  await session.console.result(["", ...legend]);
}

function imagesCell(most: number | null): string {
  if (most === null) return "?";
  return most > 1 ? `${usualImages(most)} (${most})` : String(most);
}

function creditsCell(model: Model): string {
  const { credits } = model;
  const text = credits === null ? "?" : creditsText(credits).replaceAll(/\w+:/g, "");
  return needsSubscription(model) ? `${text} +` : text;
}

/** How many images a request makes that does not say how many. */
function usualImages(most: number): number {
  return Math.min(most, IMAGES_BY_DEFAULT);
}

function imagesText(most: number | null): string {
  if (most === null) return UNDOCUMENTED;
  return most > 1 ? `${usualImages(most)} unless --max-images says otherwise, up to ${most}` : "1";
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

/** All that is known of one model. */
export async function showModel(model: Model, session: Session): Promise<void> {
  const style = session.console.style("stdout");
  const columns = roomOn(session.context.stdout);
  const lines = factsOf(model).flatMap(([name, text]) =>
    besideTerm(`  ${name}`, [text.split(" ")], { columns, beside: 19, least: 20, indent: 6 }),
  );
  await session.console.result([model.id, ...lines], (line, at) =>
    at === 0 ? style("heading", line) : line,
  );
}

function factsOf(model: Model): [string, string][] {
  return [
    ["kind", listed(model.kinds)],
    ["ratios", listed(model.ratios)],
    ["default ratio", model.defaultRatio ?? UNDOCUMENTED],
    ["qualities", listed(model.qualities)],
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

/** A list as text: an empty one is "none", null is "not documented". */
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

/** A single price alone; several by quality, without the price of a request that has none. */
function creditsText(credits: Model["credits"]): string {
  if (credits === null) return UNDOCUMENTED;
  const entries = Object.entries(credits);
  if (entries.length === 1) return String(entries[0]?.[1]);
  return entries
    .filter(([quality]) => quality !== "default")
    .map(([quality, cost]) => `${quality}:${cost}`)
    .join(" ");
}
