import { splitCommand } from "./command-line.ts";
import { UsageError } from "./error-types.ts";
import { isTexts, jsonOrNull } from "./json.ts";

/** Parses `steps=20 "sampler_name=DPM++ 2M"`, or a JSON list of pairs. @throws UsageError that shows the `example` */
export function parsePairs(label: string, text: string, example: string): [name: string, value: string][] {
  return parseWords(label, text).map((word) => {
    const at = word.indexOf("=");
    if (at < 1) throw new UsageError(`${label}: ${JSON.stringify(word)} must be like ${example}.`);
    return [word.slice(0, at), word.slice(at + 1)];
  });
}

function parseWords(label: string, text: string): readonly string[] {
  if (text.trim() === "") return [];
  const list = text.startsWith("[") ? jsonOrNull(text) : splitCommand(text);
  if (isTexts(list)) return list;
  throw new UsageError(`${label} cannot be read${typeof list === "string" ? `: ${list}` : ""}.`);
}
