import { type Finding, failed, news, ok, warning } from "../../../client/finding.ts";
import { isMissingInExecutable, UndecodableError } from "../../../graphics/decoder.ts";
import type { Protocol, Screen } from "../../../graphics/terminal.ts";
import { errorCode } from "../../../lib/error-text.ts";
import { detectSessionScreen } from "../../output/show-images.ts";
import type { Session } from "../../session/session.ts";
import { hasSymbols } from "../../text/colors.ts";

/** Oldest supported version of Node, as in package.json. */
export const OLDEST_NODE = "20.19";

export function checkNode({ context: { nodeVersion: version } }: Session): Finding {
  const facts = { version, required: OLDEST_NODE };
  if (version.localeCompare(OLDEST_NODE, "en", { numeric: true }) >= 0) return ok(version, facts);
  const next = `Install Node ${OLDEST_NODE} or later: https://nodejs.org`;
  return failed(`Node ${version} is not supported.`, next, facts);
}

/** Loads optional dependencies, because an installed package can lack its native code. */
export async function checkLibraries(): Promise<Finding> {
  const { findFontFile } = await import("../../../graphics/contact-sheet.ts");
  const { getSharpVersion } = await import("../../../graphics/decoder.ts");
  try {
    const sharp = await getSharpVersion();
    findFontFile();
    return ok(`sharp ${sharp}, dejavu-fonts-ttf`, { sharp, fonts: true });
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    const { message, cause } = error;
    const isMissing = isMissingInExecutable(cause) || /MODULE_NOT_FOUND/.test(errorCode(cause) ?? "");
    const clause = isMissing ? message : "the optional package sharp is installed, but cannot be loaded";
    const sentence = `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
    return warning(sentence, isMissingInExecutable(cause) ? EXECUTABLE_HINT : PACKAGE_HINT, {});
  }
}

const PACKAGE_HINT =
  "Images are saved without sharp, but previews, thumbnails and contact sheets may need it. To install sharp, reinstall imggen.";

const EXECUTABLE_HINT =
  "Images are saved without sharp, and shown in terminals that support image files. Other terminals, thumbnails and contact sheets need the npm package of imggen.";

export async function checkTerminal(session: Session): Promise<Finding> {
  const { context, console, options } = session;
  if (context.stdout.isTTY !== true) return ok("standard output is not a terminal", { isTerminal: false });
  // With --json, queries only a terminal on standard error, because a query on standard output would damage the JSON.
  const screen = await detectSessionScreen(session, options.json !== true || context.stderr.isTTY === true);
  const { columns, rows, protocol } = screen;
  const colors = console.takesColors("stdout") ? COLORS[screen.colors] : "no colours";
  const symbols = hasSymbols(context.env);
  const hasNone = protocol === "blocks" && screen.colors === "none";
  const pictures = hasNone ? "no images" : `images as ${PICTURES[protocol]}`;
  const parts = [`${columns}×${rows}`, colors, symbols ? "symbols" : "no symbols", pictures];
  return news(parts.join(", "), { isTerminal: true, columns, rows, colors, symbols, pictures });
}

const COLORS: Readonly<Record<Screen["colors"], string>> = {
  truecolor: "16 million colours",
  "256": "256 colours",
  none: "16 colours",
};

const PICTURES: Readonly<Record<Protocol, string>> = {
  kitty: "kitty graphics",
  iterm2: "iTerm2 graphics",
  sixel: "sixel graphics",
  blocks: "half blocks",
};
