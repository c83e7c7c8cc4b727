import bfl from "../../../.github/docs/help/bfl.md?raw";
import comfyui from "../../../.github/docs/help/comfyui.md?raw";
import command from "../../../.github/docs/help/command.md?raw";
import events from "../../../.github/docs/help/events.md?raw";
import fal from "../../../.github/docs/help/fal.md?raw";
import gemini from "../../../.github/docs/help/gemini.md?raw";
import generatorCosts from "../../../.github/docs/help/generator-costs.md?raw";
import generatorOptions from "../../../.github/docs/help/generator-options.md?raw";
import generators from "../../../.github/docs/help/generators.md?raw";
import json from "../../../.github/docs/help/json.md?raw";
import jsonCommands from "../../../.github/docs/help/json-commands.md?raw";
import manifests from "../../../.github/docs/help/manifests.md?raw";
import matrix from "../../../.github/docs/help/matrix.md?raw";
import npm from "../../../.github/docs/help/npm.md?raw";
import openai from "../../../.github/docs/help/openai.md?raw";
import replicate from "../../../.github/docs/help/replicate.md?raw";
import scale from "../../../.github/docs/help/scale.md?raw";
import sdapi from "../../../.github/docs/help/sdapi.md?raw";
import uploads from "../../../.github/docs/help/uploads.md?raw";
import { pieces, termLines, wrapWords } from "../text/fit.ts";
import { environmentPage, exitCodePage, settingsPage } from "./reference-tables.ts";
import { type HELP, TOPIC_NAMES, type TopicName } from "./topic-names.ts";

const HELP_PAGE = `Usage: imggen help [command|topic]

Show help for a command or a topic. Without an argument, list the commands. With --json, print one JSON document.

Topics: ${TOPIC_NAMES.join(", ")}

## Examples

\`\`\`sh
imggen help generate
imggen help exit-codes
imggen help man | man -l -
\`\`\``;

const PAGES: Readonly<Record<TopicName | typeof HELP, string>> = {
  help: HELP_PAGE,
  "exit-codes": exitCodePage(),
  environment: environmentPage(),
  settings: settingsPage(),
  json,
  "json-commands": jsonCommands,
  events,
  matrix,
  manifests,
  scale,
  uploads,
  generators,
  "generator-options": generatorOptions,
  "generator-costs": generatorCosts,
  comfyui,
  sdapi,
  openai,
  command,
  replicate,
  fal,
  bfl,
  gemini,
  npm,
};

export function topicLines(name: TopicName | typeof HELP, columns: number): string[] {
  return layOutPage(PAGES[name], columns);
}

/** Code, headings, tables with two columns, paragraphs. The title is skipped, because the user has just typed it. */
const BLOCK = /^```(\w+)\n([\s\S]*?)\n```$|^## (.+)$|^((?:\|.+\|\n?)+)|^((?:(?!#|\||```).+\n?)+)/gm;
const ROW = /^\| (.+?) \| (.+) \|$/;
const TOPIC_LINK = /\[[^\]]+\]\(([\w-]+)\.md\)/g;

const CODE_INDENT = 4;
/** Points at which a long line of JSON is broken, so that the JSON remains valid. */
const JSON_BREAK = /(?<=[,:]) /;
const TEXT_INDENT = 2;
const MIN_TEXT_COLUMNS = 22;

/** Links to other pages become `imggen help` commands. */
export function layOutPage(page: string, columns: number): string[] {
  const lines: string[] = [];
  let indent = 0;
  for (const [, language = "", code, heading, table, paragraph = ""] of page.matchAll(BLOCK)) {
    const isIntroduced = lines.at(-1)?.endsWith(":") && heading === undefined && !isScript(code);
    if (lines.length > 0 && !isIntroduced) lines.push("");
    if (code !== undefined) lines.push(...codeLines(code, language, columns));
    else if (table !== undefined) lines.push(...tableLines(table, columns));
    else if (heading === undefined)
      lines.push(...wrapWords(pieces(plainText(paragraph)), { columns, indent }));
    else {
      lines.push(`${heading}:`);
      indent = TEXT_INDENT;
    }
  }
  return lines;
}

/** A script is not indented, so that users can copy and run it. */
function isScript(code: string | undefined): boolean {
  return code?.startsWith("#!") === true;
}

function codeLines(code: string, language: string, columns: number): string[] {
  const lines = code.split("\n");
  if (isScript(code)) return lines;
  return lines.flatMap((line) =>
    language === "json" && line.length + CODE_INDENT > columns
      ? wrapWords(line.trimStart().split(JSON_BREAK), { columns, indent: CODE_INDENT + 2 })
      : [" ".repeat(CODE_INDENT) + line],
  );
}

function tableLines(table: string, columns: number): string[] {
  const rows = table.trim().split("\n").slice(2);
  const cells = rows.map((row) => (ROW.exec(row) ?? []).slice(1).map(plainText));
  const textColumn = Math.max(...cells.map(([term = ""]) => term.length)) + 4;
  const layout = { columns, textColumn, minTextColumns: MIN_TEXT_COLUMNS, indent: 6 };
  return cells.flatMap(([term = "", text = ""]) => termLines(`  ${term}`, [pieces(text)], layout));
}

function plainText(text: string): string {
  return text.replace(TOPIC_LINK, "imggen help $1").replaceAll("`", "").replaceAll("\n", " ").trim();
}
