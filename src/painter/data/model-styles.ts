import { seededRandom } from "../random.ts";

/** The ways of painting. */
export type StyleName = "plain" | "oil" | "watercolor" | "pixels" | "sketch" | "poster";

/** How a model paints where the prompt does not say. */
export interface ModelStyle {
  readonly style: StyleName;
  /** From -1 (all blue) to 1 (all amber); 0 leaves colours as they are. */
  readonly warmth: number;
  /** Colourfulness; 1 leaves colours as they are. */
  readonly vivid: number;
}

/** The style of each family of models; those of one family differ in colour. */
const STYLES: readonly (readonly [family: string, style: StyleName])[] = [
  ["alpha", "plain"],
  ["beta/", "watercolor"],
  ["beta", "oil"],
  ["delta", "poster"],
  ["z-image", "watercolor"],
];

export function modelStyle(model: string): ModelStyle {
  const draw = seededRandom(`hand\n${model}`);
  const style = STYLES.find(([family]) => model.includes(family))?.[1] ?? "plain";
  return { style, warmth: draw.between(-0.12, 0.14), vivid: draw.between(0.82, 1.22) };
}
