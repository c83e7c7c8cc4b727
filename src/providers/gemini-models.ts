import { type Columns, type Matrix, model } from "../models/matrix.ts";

/** What a prompt may hold is Gemini's to say. */
const ANY: Columns = { promptLimit: null };
const SIZES: Columns = { ...ANY, qualities: ["1K", "2K", "4K"] };

/** Gemini's models by name; it may have others. Prices are the user's to say. */
export const GEMINI_MATRIX: Matrix = [
  model("gemini-3-pro-image", SIZES),
  model("gemini-3.1-flash-image", SIZES),
  model("gemini-2.5-flash-image", ANY, { qualities: [] }),
];
