import type { Size } from "../lib/image/format.ts";

/** The ways to show a picture in a terminal. */
export type Protocol = "kitty" | "iterm2" | "sixel" | "blocks";

/** The graphics protocols that a terminal's environment variables name. */
export interface NamedGraphics {
  kitty: boolean;
  iterm2: boolean;
  sixel: boolean;
}

/** What is known of a terminal before it is asked. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>;
  columns: number;
  rows: number;
  /** Whether it may be shown colours. */
  hasColors: boolean;
  named: () => Promise<NamedGraphics>;
  /** Sends it a query, and returns what it answers; empty if it says nothing. */
  ask: (question: string) => Promise<string>;
}

/** How a terminal shows pictures. */
export interface Screen {
  protocol: Protocol;
  columns: number;
  rows: number;
  /** Size of a character, in pixels. */
  cell: { width: number; height: number };
  /** Colours that text can have. */
  colors: "truecolor" | "256" | "none";
}

/** Common, where a terminal does not say: of a picture that it scales itself, only the ratio depends on it. */
const USUAL_CELL = { width: 10, height: 20 };
/** The size of XTerm's own font. A sixel picture has its size in pixels: one that is too high pushes its top off the screen. */
const SMALL_CELL = { width: 6, height: 12 };

/**
 * Finds out what a terminal can show. The environment knows most of the terminals; the rest is asked with sequences
 * that every terminal ignores or answers, its primary attributes last, which all of them answer.
 */
export async function screenOf(terminal: Terminal): Promise<Screen> {
  const { columns, rows } = terminal;
  const answer = mayBeAsked(terminal) ? await terminal.ask(questionFor(terminal.env)) : "";
  const protocol = await protocolOf(terminal, answer);
  const cell = cellIn(answer, terminal) ?? (protocol === "sixel" ? SMALL_CELL : USUAL_CELL);
  return { protocol, columns, rows, cell, colors: colorsOf(terminal) };
}

const NAME_QUERY = "\u001b[>0q";
const CELL_SIZE_QUERY = "\u001b[16t";
const WINDOW_SIZE_QUERY = "\u001b[14t";
const ATTRIBUTES_QUERY = "\u001b[c";

/** An answer is whole once the attributes are in it. */
export function isWholeAnswer(answer: string): boolean {
  return /\u001b\[\?[\d;]*c/.test(answer);
}

/**
 * A connection to another machine may be slower than the wait for the answer, which would then turn up as if it had
 * been typed. The simplest terminals show what they do not know.
 */
function mayBeAsked({ env }: Terminal): boolean {
  return !env.SSH_CONNECTION && !["", "dumb", "linux"].includes(env.TERM ?? "");
}

function questionFor({ TMUX }: Terminal["env"]): string {
  return (TMUX ? "" : NAME_QUERY) + CELL_SIZE_QUERY + WINDOW_SIZE_QUERY + ATTRIBUTES_QUERY;
}

async function protocolOf({ env, named }: Terminal, answer: string): Promise<Protocol> {
  const hasSixel = /\u001b\[\?(?:\d+;)*4(?:;\d+)*c/.test(answer);
  // The protocols of the terminal around tmux would draw over its other panes.
  if (env.TMUX) return hasSixel ? "sixel" : "blocks";
  const name = /\u001bP>\|([^\u001b]*)/.exec(answer)?.[1]?.toLowerCase() ?? "";
  const { kitty, iterm2, sixel } = await named();
  if (kitty || /^(?:kitty|ghostty)/.test(name)) return "kitty";
  if (iterm2 || /^(?:iterm2|wezterm)/.test(name)) return "iterm2";
  return sixel || hasSixel ? "sixel" : "blocks";
}

/** Reads the size of a character, else derives it from that of all text; null if the terminal says neither. */
function cellIn(answer: string, { columns, rows }: Terminal): Screen["cell"] | null {
  const [, height, width] = /\u001b\[6;(\d{1,3});(\d{1,3})t/.exec(answer) ?? [];
  const [, allHeight, allWidth] = /\u001b\[4;(\d{1,5});(\d{1,5})t/.exec(answer) ?? [];
  const cell = { width: Number(width), height: Number(height) };
  const mean = {
    width: Math.floor(Number(allWidth) / columns),
    height: Math.floor(Number(allHeight) / rows),
  };
  return [cell, mean].find((each) => each.width > 0 && each.height > 0) ?? null;
}

function colorsOf({ env, hasColors }: Terminal): Screen["colors"] {
  const { FORCE_COLOR: force, COLORTERM: kind = "", TERM: term = "" } = env;
  if (!hasColors || term === "dumb") return "none";
  if (force === "3" || /^(?:truecolor|24bit)$/.test(kind) || env.WT_SESSION) return "truecolor";
  return force === "2" || /256color|xterm|screen|tmux/.test(term) ? "256" : "none";
}

/** Rows of a terminal that stay free, so that a picture and the lines below it are on one screen. */
export const FREE_ROWS = 4;

/**
 * The size of a picture in characters: as large as the terminal allows and no larger than the image itself, at least
 * one character. @param cell size of a character in pixels of the image
 */
export function fittedCells(image: Size, screen: Screen, cell: Size): Size {
  const room = roomOf(screen);
  const scale = Math.min(
    1,
    (room.width * cell.width) / image.width,
    (room.height * cell.height) / image.height,
  );
  const cells = (pixels: number, size: number) => Math.max(1, Math.round((pixels * scale) / size));
  return {
    width: Math.min(room.width, cells(image.width, cell.width)),
    height: Math.min(room.height, cells(image.height, cell.height)),
  };
}

/** What a picture may take of a terminal, in characters. */
export function roomOf({ columns, rows }: Pick<Screen, "columns" | "rows">): Size {
  return { width: Math.max(1, columns), height: Math.max(1, rows - FREE_ROWS) };
}
