import { ImggenError } from "../lib/error-types.ts";

/** The result of a check. */
export interface Finding {
  /** `news` is well too, and shown to everybody; `failed` must be fixed. */
  level: "ok" | "news" | "skipped" | "warning" | "failed";
  /** A sentence if something is wrong; otherwise a few words without a full stop. */
  message: string;
  /** The next step; null if there is none. */
  hint: string | null;
  /** The result for programs: values by name. Empty if the check could not be made. */
  facts: Facts;
}

type Facts = Readonly<Record<string, string | number | boolean | null>>;

const withoutHint = (level: Finding["level"]) => (message: string, facts: Facts) => {
  return { level, message, hint: null, facts };
};
export const ok = withoutHint("ok");
export const news = withoutHint("news");
export const skipped = withoutHint("skipped");

const withHint = (level: Finding["level"]) => (message: string, hint: string | null, facts: Facts) => {
  return { level, message, hint, facts };
};
export const warning = withHint("warning");
export const failed = withHint("failed");

/** A check cannot be made, and why. Another check reports the cause. */
export class NotChecked extends Error {}

/** What a check depends on. Another check reports an error of it. @throws NotChecked in place of an ImggenError */
export async function needed<Found>(find: () => Found | Promise<Found>): Promise<Found> {
  try {
    return await find();
  } catch (error) {
    throw error instanceof ImggenError ? new NotChecked(error.message, { cause: error }) : error;
  }
}
