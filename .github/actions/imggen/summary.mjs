// Writes the job's summary from what imggen batch has printed: a line for each row, the total, and where the images are.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";

const { RUNNER_TEMP, GITHUB_STEP_SUMMARY, GITHUB_OUTPUT, OUTPUT, ARTIFACT_URL } = process.env;

const results = path.join(RUNNER_TEMP, "imggen-batch.jsonl");
const lines = existsSync(results) ? readFileSync(results, "utf8").trim().split("\n").filter(Boolean) : [];
const parsed = lines.map((line) => JSON.parse(line));
const rows = parsed.filter(({ row }) => row !== undefined).sort((one, other) => one.row - other.row);
const summary = parsed.find(({ type }) => type === "summary");
// Those of earlier attempts too.
const saved = rows.filter(({ ok }) => ok).length;
const failure = parsed.find(({ ok, row }) => ok === false && row === undefined);

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
appendFileSync(GITHUB_OUTPUT, `saved=${saved}\ncredits=${summary?.credits ?? ""}\n`);

function lineOf({ row, line, ok, request, files, error, credits }) {
  const names = files.map(({ path: file }) => path.relative(path.resolve(OUTPUT), file)).join(", ");
  return `| ${[row, request?.prompt ?? `line ${line}`, ok ? names : `**${error.message}**`, credits ?? "?"].map(cell).join(" | ")} |`;
}

function total() {
  if (summary === undefined)
    return failure === undefined ? "The batch did not run." : cell(failure.error.message);
  const { rows: all, credits } = summary;
  const cost = credits === null ? "an unknown number of credits was" : `${credits} credits were`;
  return `${saved} of ${all} saved; ${cost} charged in this attempt.`;
}

/** A text as a cell of a Markdown table, whatever is in it. */
function cell(value) {
  return String(value)
    .replace(/[&<>|`[\]\\]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/\s+/g, " ");
}
