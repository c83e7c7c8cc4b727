import {
  type Cells,
  KINDS,
  LONGEST_ID,
  MAX_IMAGES,
  type Model,
  QUALITIES,
  type References,
} from "../matrix.ts";
import { isWellFormedRatio } from "../ratio.ts";
import { allOf, type Form, listOf, oneOf, orNull, someOf, text, trueOrFalse, wholeNumber } from "./form.ts";
import { MatrixProblem } from "./problem.ts";

/** One model of a matrix file. What it omits comes from the built-in model of the same id, or is the default. */
export type MatrixEntry = Cells & Pick<Model, "id">;

/** A comma would be taken for the end of an id by `imggen compare --model`. */
const ID = text(
  (id) => id.length <= LONGEST_ID && /^[^\s,\p{C}]+$/u.test(id),
  `an id of at most ${LONGEST_ID} characters without spaces and commas`,
);
const RATIO = text(isWellFormedRatio, "width:height in whole numbers, or auto");
const QUALITY = oneOf(QUALITIES);
const CREDITS = wholeNumber(0);
const NOTE = text((note) => note.trim() !== "", "a text");

const REFERENCES: Form<References> = allOf<References>({
  min: wholeNumber(0),
  max: orNull(wholeNumber(0)),
  httpsOnly: trueOrFalse,
});

const PRICES = someOf<NonNullable<Model["credits"]>>({
  basic: CREDITS,
  high: CREDITS,
  "1K": CREDITS,
  "2K": CREDITS,
  "4K": CREDITS,
  default: CREDITS,
});

const FIELDS = someOf<Model>({
  id: ID,
  kinds: orNull(listOf(oneOf(KINDS), { min: 1 })),
  ratios: orNull(listOf(RATIO, { min: 1 })),
  defaultRatio: RATIO,
  qualities: orNull(listOf(QUALITY, { min: 0 })),
  defaultQuality: orNull(QUALITY),
  maxImages: orNull(wholeNumber(MAX_IMAGES.min, MAX_IMAGES.max)),
  promptLimit: wholeNumber(1),
  references: orNull(references),
  credits: orNull(prices),
  documented: trueOrFalse,
  notes: listOf(NOTE, { min: 0 }),
});

/** Takes one entry. @throws MatrixProblem */
export const readMatrixEntry: Form<MatrixEntry> = (value, at) => {
  const { id, ...cells } = FIELDS(value, at);
  if (id === undefined) throw new MatrixProblem(`${at}.id`, "is missing");
  return { id, ...cells };
};

function references(value: unknown, at: string): References {
  const { min, max, httpsOnly } = REFERENCES(value, at);
  if (max !== null && max < min) throw new MatrixProblem(`${at}.max`, `is below ${at}.min`);
  return { min, max, httpsOnly };
}

/** A model without any price would have an infinite lowest one. */
function prices(value: unknown, at: string): NonNullable<Model["credits"]> {
  const credits = PRICES(value, at);
  if (Object.keys(credits).length > 0) return credits;
  throw new MatrixProblem(at, "must not be empty; null says that it is not known");
}
