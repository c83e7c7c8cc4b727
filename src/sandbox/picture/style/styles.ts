import { oil } from "./oil.ts";
import { pixels } from "./pixels.ts";
import { plain } from "./plain.ts";
import { poster } from "./poster.ts";
import { sketch } from "./sketch.ts";
import type { Style } from "./style.ts";
import type { StyleName } from "./style-name.ts";
import { watercolor } from "./watercolor.ts";

export const STYLES: Readonly<Record<StyleName, Style>> = { plain, oil, watercolor, pixels, sketch, poster };
