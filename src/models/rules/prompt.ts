import type { Matrix } from "../matrix.ts";
import { modelList, type Refusal, type Rule, refuse, warning } from "./rule.ts";

/** Section 7, `empty_prompt`. No model takes a blank prompt, so this holds even where nothing else is checked. */
export function emptyPromptRefusal(prompt: string, label: string): Refusal | undefined {
  if (prompt.trim() !== "") return undefined;
  return refuse(`${label} is empty`, 'say what the image should show, such as "a fox in the snow"');
}

/** What JSON cannot carry from end to end: half a surrogate pair, and NUL. */
export const promptText: Rule = ({ input, labels }) => {
  const broken = /[\ud800-\udfff\0]/u.exec(input.prompt);
  if (broken === null) return undefined;
  const what = broken[0] === "\0" ? "a NUL character" : "half of a character (a lone surrogate)";
  const place = charactersIn(input.prompt.slice(0, broken.index)) + 1;
  return refuse(
    `${labels.prompt} holds ${what} at character ${place}`,
    "take it out, or save it as UTF-8 text",
  );
};

/**
 * Section 8, prompt length. The document counts "characters": code points here, as that is the reading that
 * refuses least; a prompt that is too long by the other reading (UTF-16 units) is warned of.
 */
export const promptLength: Rule = ({ input, model, matrix, labels }) => {
  const { prompt } = input;
  const { id, promptLimit } = model;
  if (promptLimit === null || prompt.length <= promptLimit) return undefined;
  const length = charactersIn(prompt);
  if (length > promptLimit) {
    const message = `${labels.prompt} has ${length} characters, and ${id} takes at most ${promptLimit}`;
    return refuse(message, roomFor(length, matrix));
  }
  return warning(
    `${labels.prompt} has ${length} characters, but ${prompt.length} if the service counts UTF-16 units; ` +
      `${id} takes at most ${promptLimit}`,
  );
};

function roomFor(length: number, matrix: Matrix): string {
  const larger = modelList(matrix.filter((model) => (model.promptLimit ?? length) >= length));
  return larger === ""
    ? "make it shorter; no model takes as many"
    : `make it shorter, or use one of ${larger}`;
}

function charactersIn(text: string): number {
  return Array.from(text).length;
}
