import type { Protocol, Screen } from "../../../graphics/terminal.ts";
import { findScreen } from "../../output/screen.ts";
import { hasSymbols } from "../../output/symbols.ts";
import { type CheckResult, type CheckSpec, ok } from "./check.ts";

/** What this terminal can show. No result is a warning or a failure. */
export async function checkTerminal({ session }: CheckSpec): Promise<CheckResult> {
  const { context, console, options } = session;
  if (context.stdout.isTTY !== true)
    return ok("standard output is not a terminal", {
      isTerminal: false,
    });
  // A query to the terminal would be written to standard output, into the JSON document.
  const screen = await findScreen(session, options.json !== true);
  const colors = console.takesColors("stdout") ? COLORS[screen.colors] : "no colours";
  const symbols = hasSymbols(context.env) ? "symbols" : "no symbols";
  const pictures = picturesOn(screen);
  return ok([`${screen.columns}×${screen.rows}`, colors, symbols, pictures].join(", "), {
    isTerminal: true,
    columns: screen.columns,
    rows: screen.rows,
    colors,
    symbols: hasSymbols(context.env),
    pictures,
  });
}

const COLORS: Readonly<Record<Screen["colors"], string>> = {
  truecolor: "16 million colours",
  "256": "256 colours",
  none: "16 colours",
};

const PICTURES: Readonly<Record<Protocol, string>> = {
  kitty: "images as kitty graphics",
  "kitty in tmux": "images as kitty graphics, through tmux",
  iterm2: "images as iTerm2 graphics",
  sixel: "images as sixel graphics",
  blocks: "images as half blocks",
};

function picturesOn({ protocol, colors }: Screen): string {
  return protocol === "blocks" && colors === "none" ? "no images" : PICTURES[protocol];
}
