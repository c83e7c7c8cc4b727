import { parseDuration } from "../lib/duration.ts";

/** The directives without a value, as they are written after `sandbox:`. */
export const WORDS = [
  "fail",
  "no-credits",
  "subscription",
  "429",
  "500",
  "drop",
  "truncate",
  "html",
  "expired",
] as const;

/** A fault that a directive injects. */
type Fault = (typeof WORDS)[number];

export interface Directives {
  faults: ReadonlySet<Fault>;
  /** How long the task takes, from `[sandbox:slow=…]`. */
  slowMs: number | null;
  /** The prompt without its directives. */
  prompt: string;
  /** The first unknown directive as it is written; null if there is none. It stays in the prompt, as at the real service. */
  unknown: string | null;
}

const DIRECTIVE = /(\[sandbox:[^\]]{0,40}\])/;

/** Reads `[sandbox:…]` anywhere in a prompt and removes it with the spaces around it. Of two durations the first counts. */
export function readDirectives(prompt: string): Directives {
  const pieces = prompt.split(DIRECTIVE).map((text) => ({ text, meaning: meaningOf(text) }));
  const meanings = pieces.map(({ meaning }) => meaning);
  const plain = pieces.filter(({ meaning }) => meaning === null).map(({ text }) => text.trim());
  return {
    faults: new Set(meanings.filter((meaning) => typeof meaning === "string")),
    slowMs: meanings.find((meaning) => typeof meaning === "number") ?? null,
    prompt: plain.filter((text) => text !== "").join(" "),
    unknown: plain.find((text) => DIRECTIVE.test(text)) ?? null,
  };
}

/** The fault that a piece of a prompt injects, or the duration it sets in milliseconds; null: plain text. */
function meaningOf(piece: string): Fault | number | null {
  if (!DIRECTIVE.test(piece)) return null;
  const text = piece.slice("[sandbox:".length, -1);
  if (text.startsWith("slow=")) return parseDuration(text.slice("slow=".length));
  return WORDS.find((word) => word === text) ?? null;
}
