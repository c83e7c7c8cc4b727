import { parseDuration } from "../lib/duration.ts";

const WORDS = [
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

/** A kind of trouble that a prompt can call up. */
type Trouble = (typeof WORDS)[number];

export interface Directives {
  troubles: ReadonlySet<Trouble>;
  /** How long the task takes, where `[sandbox:slow=…]` says so. */
  slowMs: number | null;
  /** The prompt without its directives. */
  prompt: string;
  /** What looked like a directive and is none stays in the prompt: the real service would draw it too. */
  hasUnknown: boolean;
}

const DIRECTIVE = /(\[sandbox:[^\]]{0,40}\])/;

/** Reads `[sandbox:…]` anywhere in a prompt; the blanks around it go too. Of two times the first counts. */
export function readDirectives(prompt: string): Directives {
  const pieces = prompt.split(DIRECTIVE).map((text) => ({ text, meaning: meaningOf(text) }));
  const meanings = pieces.map(({ meaning }) => meaning);
  const plain = pieces.filter(({ meaning }) => meaning === null).map(({ text }) => text.trim());
  return {
    troubles: new Set(meanings.filter((meaning) => typeof meaning === "string")),
    slowMs: meanings.find((meaning) => typeof meaning === "number") ?? null,
    prompt: plain.filter((text) => text !== "").join(" "),
    hasUnknown: plain.some((text) => DIRECTIVE.test(text)),
  };
}

/** The trouble that a piece of a prompt calls up, or the milliseconds it is to take; null: plain words. */
function meaningOf(piece: string): Trouble | number | null {
  if (!DIRECTIVE.test(piece)) return null;
  const text = piece.slice("[sandbox:".length, -1);
  if (text.startsWith("slow=")) return parseDuration(text.slice("slow=".length));
  return WORDS.find((word) => word === text) ?? null;
}
