import type { Size } from "../lib/image/format.ts";

export type Protocol = "kitty" | "iterm2" | "sixel" | "blocks";

/** Graphics protocols of a terminal, detected by its environment variables. */
export interface GraphicsSupport {
  kitty: boolean;
  iterm2: boolean;
  sixel: boolean;
}

export interface Terminal {
  env: Readonly<Record<string, string | undefined>>;
  columns: number;
  rows: number;
  hasColors: boolean;
  detectGraphics: () => Promise<GraphicsSupport>;
  query: (question: string) => Promise<string>;
}

export interface Screen {
  protocol: Protocol;
  columns: number;
  rows: number;
  /** Size of a character, in pixels. */
  cell: { width: number; height: number };
  colors: "truecolor" | "256" | "none";
}

/** Common size of a character, if a terminal reports none. If it scales pictures, only the ratio matters. */
const DEFAULT_CELL = { width: 10, height: 20 };
/** Size of a character in XTerm's default font. A larger size could make a sixel picture too high for the screen. */
const SMALL_CELL = { width: 6, height: 12 };

/** Terminals ignore unknown queries, so the last query is for primary attributes, which every terminal reports. */
export async function detectScreen(terminal: Terminal): Promise<Screen> {
  const { columns, rows } = terminal;
  const answer = canQuery(terminal) ? await terminal.query(buildQuery(terminal.env)) : "";
  const protocol = await detectProtocol(terminal, answer);
  const cell = parseCell(answer, terminal) ?? (protocol === "sixel" ? SMALL_CELL : DEFAULT_CELL);
  return { protocol, columns, rows, cell, colors: detectColors(terminal) };
}

const NAME_QUERY = "\u001b[>0q";
const CELL_SIZE_QUERY = "\u001b[16t";
const WINDOW_SIZE_QUERY = "\u001b[14t";
const ATTRIBUTES_QUERY = "\u001b[c";

/** Whether an answer contains the primary attributes, which are the last part of an answer. */
export function isCompleteAnswer(answer: string): boolean {
  return /\u001b\[\?[\d;]*c/.test(answer);
}

/** False for SSH, where a late answer looks like typing, and for simple terminals, which print unknown sequences. */
function canQuery({ env }: Terminal): boolean {
  return !env.SSH_CONNECTION && !["", "dumb", "linux"].includes(env.TERM ?? "");
}

function buildQuery({ TMUX }: Terminal["env"]): string {
  return (TMUX ? "" : NAME_QUERY) + CELL_SIZE_QUERY + WINDOW_SIZE_QUERY + ATTRIBUTES_QUERY;
}

async function detectProtocol({ env, detectGraphics }: Terminal, answer: string): Promise<Protocol> {
  const hasSixel = /\u001b\[\?(?:\d+;)*4(?:;\d+)*c/.test(answer);
  // Ignores the terminal around tmux, because it would draw over other panes.
  if (env.TMUX) return hasSixel ? "sixel" : "blocks";
  const name = /\u001bP>\|([^\u001b]*)/.exec(answer)?.[1]?.toLowerCase() ?? "";
  const { kitty, iterm2, sixel } = await detectGraphics();
  if (kitty || /^(?:kitty|ghostty)/.test(name)) return "kitty";
  if (iterm2 || /^(?:iterm2|wezterm)/.test(name)) return "iterm2";
  return sixel || hasSixel ? "sixel" : "blocks";
}

/** Reads the size of a character in pixels, or calculates it from the size of the window; null if unknown. */
function parseCell(answer: string, { columns, rows }: Terminal): Screen["cell"] | null {
  const [, height, width] = /\u001b\[6;(\d{1,3});(\d{1,3})t/.exec(answer) ?? [];
  const [, allHeight, allWidth] = /\u001b\[4;(\d{1,5});(\d{1,5})t/.exec(answer) ?? [];
  const cell = { width: Number(width), height: Number(height) };
  const mean = {
    width: Math.floor(Number(allWidth) / columns),
    height: Math.floor(Number(allHeight) / rows),
  };
  return [cell, mean].find((each) => each.width > 0 && each.height > 0) ?? null;
}

function detectColors({ env, hasColors }: Terminal): Screen["colors"] {
  const { FORCE_COLOR: force, COLORTERM: kind = "", TERM: term = "" } = env;
  if (!hasColors || term === "dumb") return "none";
  if (force === "3" || /^(?:truecolor|24bit)$/.test(kind) || env.WT_SESSION) return "truecolor";
  return force === "2" || /256color|xterm|screen|tmux/.test(term) ? "256" : "none";
}

/** Number of rows for text below a picture. */
export const FREE_ROWS = 4;

/** Returns the largest size in characters that fits the screen without enlargement. `cell` is in image pixels. */
export function fitCells(image: Size, screen: Screen, cell: Size): Size {
  const available = availableSize(screen);
  const scale = Math.min(
    1,
    (available.width * cell.width) / image.width,
    (available.height * cell.height) / image.height,
  );
  const cells = (pixels: number, size: number) => Math.max(1, Math.round((pixels * scale) / size));
  return {
    width: Math.min(available.width, cells(image.width, cell.width)),
    height: Math.min(available.height, cells(image.height, cell.height)),
  };
}

export function availableSize({ columns, rows }: Pick<Screen, "columns" | "rows">): Size {
  return { width: Math.max(1, columns), height: Math.max(1, rows - FREE_ROWS) };
}
