import type { Size } from "../lib/image/format.ts";
import type { Screen } from "./terminal.ts";

/** Rows of a terminal that stay free, so that a picture and the lines below it are on one screen. */
const FREE_ROWS = 4;

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
