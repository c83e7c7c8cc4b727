import { besideTerm, wrapWords } from "../text/fit.ts";
import { environmentText } from "./environment.ts";
import { exitCodeText } from "./exit-code-table.ts";
import { type HELP, TOPIC_NAMES, type TopicName } from "./topic-names.ts";
import batch from "./topics/batch.txt?raw";
import generators from "./topics/generators.txt?raw";
import json from "./topics/json.txt?raw";
import sandbox from "./topics/sandbox.txt?raw";
import scale from "./topics/scale.txt?raw";
import uploads from "./topics/uploads.txt?raw";

const OF_HELP = `Usage: imggen help [command|topic]

Show help for a command or a topic; without either, list the commands. With --json, as one JSON document.

Topics: ${TOPIC_NAMES.join(", ")}

Examples:
    $ imggen help generate
    $ imggen help exit-codes
    $ imggen help man | man -l -`;

/**
 * A line is a paragraph or a heading; after four spaces it is shown as it is; after two it may be a term and its text,
 * with two spaces between them. A script's lines begin with a bar, which is left out: it stands at the margin, so that
 * it runs when it is copied.
 */
const TOPICS: Readonly<Record<TopicName | typeof HELP, string>> = {
  help: OF_HELP,
  "exit-codes": exitCodeText(),
  environment: environmentText(),
  json,
  batch,
  sandbox,
  scale,
  uploads,
  generators,
};

const TERM_AND_TEXT = /^ {2}(\S.*?) {2}(\S.*)$/;
const VERBATIM = "    ";
const SCRIPT = "|";
/** A line of a JSON document. A long one is broken between its values, so that it is still valid when pasted. */
const JSON_LINE = /^ {4,}["[{]/;
const BETWEEN_JSON_VALUES = /(?<=[,:]) /;

/** A topic as it is shown in so many columns. */
export function topicText(name: TopicName | typeof HELP, columns: number): string[] {
  const lines = TOPICS[name].trimEnd().split(/\r?\n/);
  const terms = lines.map((line) => TERM_AND_TEXT.exec(line)?.[1] ?? "");
  const beside = Math.max(...terms.map((term) => term.length)) + 4;
  return lines.flatMap((line) => {
    const [, term, text = ""] = TERM_AND_TEXT.exec(line) ?? [];
    if (term === undefined) return paragraphLines(line, columns);
    return besideTerm(`  ${term}`, [text.split(" ")], { columns, beside, least: 22, indent: 6 });
  });
}

function paragraphLines(text: string, columns: number): string[] {
  if (JSON_LINE.test(text) && text.length > columns)
    return wrapWords(text.trimStart().split(BETWEEN_JSON_VALUES), { columns, indent: 6 });
  if (text.startsWith(SCRIPT)) return [text.slice(SCRIPT.length)];
  if (text === "" || text.startsWith(VERBATIM)) return [text];
  return wrapWords(text.trimStart().split(" "), { columns, indent: text.search(/\S/) });
}
