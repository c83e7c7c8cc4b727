import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";

/** What a generator's server says of a failure. */
export interface ErrorBody {
  isJson: boolean;
  /** Its own words in one line, without a full stop at the end; null if it says nothing. */
  words: string | null;
  /** Every code and type that it names, as text. */
  codes: readonly string[];
  /** The field of the request that it names; null for none. */
  field: string | null;
}

const LONGEST_WORDS = 500;

/**
 * Reads the body of a refusal in any of the forms that servers use: OpenAI's object, a text, `detail` as a text or a
 * list, a code beside a message, a page, plain text, nothing.
 */
export function readErrorBody(body: string): ErrorBody {
  const json = jsonOrNull(body.replace(/^\uFEFF/, ""));
  if (json === null) return { isJson: false, words: inOneLine(ofText(body)), codes: [], field: null };
  // Google's list of one error, too.
  const outer = [json].flat();
  const parts = [...outer, ...outer.map((each) => fieldsOf(each).error)].filter(isJsonObject);
  const codes = parts.flatMap(({ code, type, status, error }) => [code, type, status, error]);
  const field = parts.map(({ param }) => param).find((param) => typeof param === "string");
  return {
    isJson: true,
    words: inOneLine(wordsIn(json)),
    codes: codes.filter((code) => typeof code === "string" || typeof code === "number").map(String),
    field: typeof field === "string" ? field : null,
  };
}

/** Where servers say what is wrong, the most precise first. */
const ERROR_FIELDS = ["message", "detail", "errors", "error", "msg", "title"] as const;

function wordsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(wordsIn).filter(Boolean).join("; ");
  if (!isJsonObject(value)) return "";
  const said = ERROR_FIELDS.map((name) => wordsIn(value[name])).find((text) => text.trim() !== "") ?? "";
  // Where a field of the request is at fault: `["body", "size"]`.
  return Array.isArray(value.loc) ? `${value.loc.join(".")}: ${said}` : said;
}

function ofText(body: string): string {
  if (!/^\s*</.test(body)) return body;
  const title = /<title[^>]*>([^<]*)/i.exec(body)?.[1]?.trim();
  return title ? `a page with the title “${title}”` : "a page without a title";
}

function inOneLine(text: string): string | null {
  const line = text.replace(/\s+/g, " ").trim();
  if (line === "") return null;
  return line.length > LONGEST_WORDS ? `${line.slice(0, LONGEST_WORDS)}…` : line.replace(/\.$/, "");
}
