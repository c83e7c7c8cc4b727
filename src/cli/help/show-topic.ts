import { besideTerm, wrapWords } from "../text/fit.ts";
import { TOPIC as ENVIRONMENT } from "./environment.ts";
import { TOPIC as EXIT_CODES } from "./exit-code-table.ts";
import { type HELP, TOPIC_NAMES, type Topic, type TopicName } from "./topic-names.ts";
import { TOPIC as GENERATORS } from "./topics/generators.ts";
import { TOPIC as JSON_OUTPUT } from "./topics/json.ts";
import { TOPIC as SCALE } from "./topics/scale.ts";
import { TOPIC as UPLOADS } from "./topics/uploads.ts";

const BATCH: Topic = [
  "Manifests:",
  [".txt", "one prompt per line; blank lines and # lines are skipped"],
  [".jsonl, .ndjson", "one object per line"],
  [
    ".csv",
    "a header, then rows, separated by commas, semicolons or tabs; several image URLs in a cell are separated by spaces",
  ],
  ["-", "JSON lines, or plain prompts, from standard input"],
  "",
  "image is a URL or, with your own generator, a file. A relative path starts at the manifest's folder, or at the current one if the manifest is standard input.",
  "",
  "Cost:",
  "  The whole manifest is checked before anything is sent, and the cost is shown. Above confirmAbove credits imggen asks; without a terminal it needs --yes or --max-credits. --max-credits is the budget of the whole batch, earlier runs included.",
  "",
  "Resuming:",
  "  Run the same command again. A batch is its output folder; a row is known by its content, not by its line. A saved row is skipped, an accepted one is finished, one whose outcome is unknown is reported and left (--resubmit-unknown submits it again). Two processes never submit one row twice.",
  "",
  "Exit codes: 0 if every row is saved, 10 if some are not, 3 or 4 if the account stopped the batch.",
  "",
  "See also: imggen help scale",
];

const SANDBOX: Topic = [
  "The sandbox is the whole service on this machine: free, offline, with images, credits and errors of its own.",
  "",
  "Two ways to use it:",
  ["--sandbox", "on any command: starts it inside that command, which uses no account and no key"],
  ["imggen sandbox", "serves it until Ctrl-C, and prints the base URL and the key to use"],
  "",
  "Keys:",
  ["sk-sandbox", "has a subscription; --sandbox uses it"],
  ["sk-sandbox-basic", "has no subscription"],
  ["sk-…", "any other: a fresh account with a subscription"],
  "",
  "Tasks, images and the balance survive between runs. To start over, delete the folder sandbox in the state folder.",
];

const OF_HELP: Topic = [
  "Usage: imggen help [command|topic]",
  "",
  "Show help for a command or a topic; without either, list the commands. With --json, as one JSON document.",
  "",
  `Topics: ${TOPIC_NAMES.join(", ")}`,
  "",
  "Examples:",
  "    $ imggen help generate",
  "    $ imggen help exit-codes",
  "    $ imggen help man | man -l -",
];

const TOPICS: Readonly<Record<TopicName | typeof HELP, Topic>> = {
  help: OF_HELP,
  "exit-codes": EXIT_CODES,
  environment: ENVIRONMENT,
  json: JSON_OUTPUT,
  batch: BATCH,
  sandbox: SANDBOX,
  scale: SCALE,
  uploads: UPLOADS,
  generators: GENERATORS,
};

const VERBATIM = "    ";
/** A line of a JSON document. A long one is broken between its values, so that it is still valid when pasted. */
const JSON_LINE = /^ {4,}["[{]/;
const BETWEEN_JSON_VALUES = /(?<=[,:]) /;

/** A topic as it is shown in so many columns. */
export function topicText(name: TopicName | typeof HELP, columns: number): string[] {
  const topic = TOPICS[name];
  const terms = topic.flatMap((block) => (typeof block === "string" ? [] : [block[0].length]));
  const beside = Math.max(0, ...terms) + 4;
  return topic.flatMap((block) => {
    if (typeof block === "string") return paragraphLines(block, columns);
    const [term, text] = block;
    return besideTerm(`  ${term}`, [text.split(" ")], { columns, beside, least: 22, indent: 6 });
  });
}

function paragraphLines(text: string, columns: number): string[] {
  if (JSON_LINE.test(text) && text.length > columns)
    return wrapWords(text.trimStart().split(BETWEEN_JSON_VALUES), { columns, indent: 6 });
  if (text === "" || text.startsWith(VERBATIM)) return [text];
  return wrapWords(text.trimStart().split(" "), { columns, indent: text.search(/\S/) });
}
