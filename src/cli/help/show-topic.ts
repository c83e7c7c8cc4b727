import { besideTerm, wrapWords } from "../text/fit.ts";
import type { Topic, TopicName } from "./topic-names.ts";

const TOPICS: Readonly<Record<TopicName, () => Promise<{ TOPIC: Topic }>>> = {
  "exit-codes": () => import("./exit-code-table.ts"),
  environment: () => import("./environment.ts"),
  json: () => import("./topics/json.ts"),
  batch: () => import("./topics/batch.ts"),
  sandbox: () => import("./topics/sandbox.ts"),
  scale: () => import("./topics/scale.ts"),
  uploads: () => import("./topics/uploads.ts"),
  generators: () => import("./topics/generators.ts"),
};

/** A topic as it is shown in so many columns. */
export async function topicText(name: TopicName, columns: number): Promise<string[]> {
  const { TOPIC } = await TOPICS[name]();
  return topicLines(TOPIC, columns);
}

const VERBATIM = "    ";
/** A line of a JSON document. A long one is broken between its values, so that it is still valid when pasted. */
const JSON_LINE = /^ {4,}["[{]/;
const BETWEEN_JSON_VALUES = /(?<=[,:]) /;

/** A topic as lines of a screen. */
function topicLines(topic: Topic, columns: number): string[] {
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
