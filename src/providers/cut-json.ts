import { isJsonObject, jsonOrNull } from "../lib/json.ts";

/**
 * The fields of a JSON object whose end is missing. Only whole fields count: the last character ends a text, an object and a
 * list; the comma after it ends any other value.
 */
export function closedFields(cut: string): Readonly<Record<string, unknown>> {
  const text = cut.replace(/^\uFEFF/, "");
  // The last may be the end of a field's name.
  for (const end of endsIn(text).slice(-2).reverse()) {
    const fields = jsonOrNull(`${text.slice(0, end)}}`);
    if (isJsonObject(fields)) return fields;
  }
  return {};
}

/** Where names and values of the outermost object end. */
function endsIn(text: string): number[] {
  const ends: number[] = [];
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isText && character === "\\") at += 1;
    else if (character === '"') isText = !isText;
    else if (isText) continue;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth !== 1 || isText) continue;
    if (character === ",") ends.push(at);
    else if (character === '"' || character === "}" || character === "]") ends.push(at + 1);
  }
  return ends;
}
