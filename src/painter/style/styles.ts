import type { StyleName } from "../data/model-styles.ts";
import { oil } from "./oil.ts";
import { pixels } from "./pixels.ts";
import { plain } from "./plain.ts";
import { poster } from "./poster.ts";
import { sketch } from "./sketch.ts";
import type { Style } from "./style.ts";
import { enlarged } from "./style.ts";
import { watercolor } from "./watercolor.ts";

export const STYLES: Readonly<Record<StyleName, Style>> = {
  plain,
  pixels,
  poster,
  oil: enlarged(oil),
  watercolor: enlarged(watercolor),
  sketch: enlarged(sketch),
};
