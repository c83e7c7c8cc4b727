// Writes the job's summary from what imggen batch has printed: a line for each row, the total, and where the images are.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";

const { RUNNER_TEMP, GITHUB_STEP_SUMMARY, GITHUB_OUTPUT, OUTPUT, ARTIFACT_URL } = process.env;

const results = path.join(RUNNER_TEMP, "imggen-batch.jsonl");
const lines = existsSync(results) ? readFileSync(results, "utf8").split("\n") : [];
const parsed = lines.flatMap(parsedLine);
const rows = parsed.filter(({ row }) => row !== undefined).sort((one, other) => one.row - other.row);
const summary = parsed.find(({ type }) => type === "summary");
// Those of earlier attempts too.
const saved = rows.filter(({ ok }) => ok).length;
const failure = parsed.find(({ ok, row }) => ok === false && row === undefined);

// First: the steps that follow may depend on them.
appendFileSync(GITHUB_OUTPUT, `saved=${saved}\ncredits=${summary?.credits ?? ""}\n`);

const text = [
  "## Images",
  "",
  ...(rows.length === 0
    ? []
    : ["| row | prompt | result | credits |", "|---:|---|---|---:|", ...rows.map(lineOf), ""]),
  total(),
  ...(ARTIFACT_URL ? ["", `[The images, with their contact sheet](${ARTIFACT_URL})`] : []),
];
appendFileSync(GITHUB_STEP_SUMMARY, `${text.join("\n")}\n`);

/** A line's document; none for the last line of a batch that was killed, which may be cut. */
function parsedLine(line) {
  try {
    return [JSON.parse(line)].filter((value) => value !== null && typeof value === "object");
  } catch {
    return [];
  }
}

function lineOf({ row, line, ok, request, files = [], error, credits }) {
  const names = files.map(({ path: file }) => path.relative(path.resolve(OUTPUT), file)).join(", ");
  return `| ${[row, request?.prompt ?? `line ${line}`, ok ? names : `**${error?.message ?? "failed"}**`, credits ?? "?"].map(cell).join(" | ")} |`;
}

function total() {
  if (summary === undefined) return failure === undefined ? unfinished() : cell(failure.error.message);
  const { rows: all, credits } = summary;
  const cost = credits === null ? "an unknown number of credits was" : `${credits} credits were`;
  return `${saved} of ${all} saved; ${cost} charged in this attempt.`;
}

function unfinished() {
  return rows.length === 0 ? "The batch did not run." : `${saved} saved; the batch did not end.`;
}

/** A text as a cell of a Markdown table, whatever is in it. */
function cell(value) {
  return String(value)
    .replace(/[&<>|`[\]\\]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/\s+/g, " ");
}
