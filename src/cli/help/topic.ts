import { besideTerm, wrapWords } from "../output/fit.ts";

/** A paragraph, a heading (`Budget:`) or, after four blanks, a line that is shown as it is; or a term and its text. */
export type Block = string | readonly [term: string, text: string];

export type Topic = readonly Block[];

const VERBATIM = "    ";
/** A line of a JSON document. A long one is broken between its values, so that it is still valid when pasted. */
const JSON_LINE = /^ {4,}["[{]/;
const BETWEEN_JSON_VALUES = /(?<=[,:]) /;

/** A topic as lines of a screen. */
export function topicLines(topic: Topic, columns: number): string[] {
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
