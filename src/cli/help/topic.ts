import { wrapWords } from "../output/wrap.ts";

/** A paragraph, a heading (`Budget:`) or, after four blanks, a line that is shown as it is; or a term and its text. */
export type Block = string | readonly [term: string, text: string];

export type Topic = readonly Block[];

const VERBATIM = "    ";
/** A line of a JSON document. A long one is broken between its values, so that it is still valid when pasted. */
const JSON_LINE = /^ {4,}["[{]/;
const BETWEEN_JSON_VALUES = /(?<=[,:]) /;
const FEWEST_TEXT_COLUMNS = 22;
const TEXT_INDENT = 6;

/** A topic as lines of a screen. */
export function topicLines(topic: Topic, columns: number): string[] {
  const terms = topic.flatMap((block) => (typeof block === "string" ? [] : [block[0].length]));
  const beside = Math.max(0, ...terms) + 4;
  const fitsBeside = columns - beside >= FEWEST_TEXT_COLUMNS;
  return topic.flatMap((block) => {
    if (typeof block === "string") return paragraphLines(block, columns);
    const [term, text] = block;
    if (!fitsBeside) return [`  ${term}`, ...wrapWords(text.split(" "), { columns, indent: TEXT_INDENT })];
    const [first = "", ...more] = wrapWords(text.split(" "), { columns, indent: beside });
    return [`  ${term.padEnd(beside - 4)}  ${first.trimStart()}`, ...more];
  });
}

function paragraphLines(text: string, columns: number): string[] {
  if (JSON_LINE.test(text) && text.length > columns)
    return wrapWords(text.trimStart().split(BETWEEN_JSON_VALUES), { columns, indent: 6 });
  if (text === "" || text.startsWith(VERBATIM)) return [text];
  return wrapWords(text.trimStart().split(" "), { columns, indent: text.search(/\S/) });
}
