import type { Matrix } from "../matrix.ts";
import { modelList, type Refusal, type Rule, refuse, warning } from "./rule.ts";

/** Section 7, `empty_prompt`: checked even if validation is off. */
export function emptyPromptRefusal(prompt: string, label: string): Refusal | undefined {
  if (prompt.trim() !== "") return undefined;
  return refuse(`${label} is empty`, 'say what the image should show, such as "a fox in the snow"');
}

/** Refuses characters that do not survive JSON: half a surrogate pair, and NUL. */
export const promptText: Rule = ({ input, labels }) => {
  const broken = /[\ud800-\udfff\0]/u.exec(input.prompt);
  if (broken === null) return undefined;
  const what = broken[0] === "\0" ? "a NUL character" : "half of a character (a lone surrogate)";
  const position = charactersIn(input.prompt.slice(0, broken.index)) + 1;
  return refuse(
    `${labels.prompt} holds ${what} at character ${position}`,
    "take it out, or save it as UTF-8 text",
  );
};

/**
 * Section 8: the limit counts "characters". Code points refuse least; a prompt that is too long in UTF-16 units gets
 * a warning.
 */
export const promptLength: Rule = ({ input, model, matrix, labels }) => {
  const { prompt } = input;
  const { id, promptLimit } = model;
  if (promptLimit === null || prompt.length <= promptLimit) return undefined;
  const length = charactersIn(prompt);
  if (length > promptLimit) {
    const message = `${labels.prompt} has ${length} characters, and ${id} takes at most ${promptLimit}`;
    return refuse(message, lengthHint(length, matrix));
  }
  return warning(
    `${labels.prompt} has ${length} characters, but ${prompt.length} if the service counts UTF-16 units; ` +
      `${id} takes at most ${promptLimit}`,
  );
};

function lengthHint(length: number, matrix: Matrix): string {
  const larger = modelList(matrix.filter((model) => (model.promptLimit ?? length) >= length));
  return larger === ""
    ? "make it shorter; no model takes as many"
    : `make it shorter, or use one of ${larger}`;
}

function charactersIn(text: string): number {
  return Array.from(text).length;
}
