import type { Matrix } from "../matrix.ts";
import { modelList, type Refusal, type Rule, refuse, warning } from "./rule.ts";

/** Refuses an empty prompt even if validation is off (section 7, `empty_prompt`). */
export function emptyPromptRefusal(prompt: string, label: string): Refusal | undefined {
  if (prompt.trim() !== "") return undefined;
  return refuse(`${label} is empty`, 'say what the image should show, such as "a fox in the snow"');
}

/** Refuses lone surrogates and NUL, because many JSON readers do not preserve these characters. */
export const promptText: Rule = ({ input, labels }) => {
  const match = /[\ud800-\udfff\0]/u.exec(input.prompt);
  if (match === null) return undefined;
  const character = match[0] === "\0" ? "a NUL character" : "half of a character (a lone surrogate)";
  const position = countCharacters(input.prompt.slice(0, match.index)) + 1;
  return refuse(
    `${labels.prompt} contains ${character} at character ${position}`,
    "remove that character, or save the prompt as UTF-8 text",
  );
};

/** Counts code points (section 8), because other counts are higher and could refuse a valid prompt. */
export const promptLength: Rule = ({ input, model, matrix, labels }) => {
  const { prompt } = input;
  const { id, promptLimit } = model;
  if (promptLimit === null || prompt.length <= promptLimit) return undefined;
  const length = countCharacters(prompt);
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
  const modelNames = modelList(matrix.filter((model) => (model.promptLimit ?? length) >= length));
  return modelNames === ""
    ? "make it shorter; no model takes that many characters"
    : `make it shorter, or use one of ${modelNames}`;
}

function countCharacters(text: string): number {
  return Array.from(text).length;
}
