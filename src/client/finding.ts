import { ImggenError } from "../lib/error-types.ts";

export interface Finding {
  /** `news` is a success that is always displayed. `failed` must be fixed. */
  level: "ok" | "news" | "skipped" | "warning" | "failed";
  /** A sentence for a problem, otherwise a few words without a full stop. */
  message: string;
  hint: string | null;
  facts: FindingFacts;
}

type FindingFacts = Readonly<Record<string, string | number | boolean | null>>;

const withoutHint = (level: Finding["level"]) => (message: string, facts: FindingFacts) => {
  return { level, message, hint: null, facts };
};
export const ok = withoutHint("ok");
export const news = withoutHint("news");
export const skipped = withoutHint("skipped");

const withHint = (level: Finding["level"]) => (message: string, hint: string | null, facts: FindingFacts) => {
  return { level, message, hint, facts };
};
export const warning = withHint("warning");
export const failed = withHint("failed");

/** Reason that a check cannot be made. Another check reports the cause. */
export class NotChecked extends Error {}

/** Reads a dependency of a check, whose errors another check reports. @throws NotChecked instead of an ImggenError */
export async function orNotChecked<Value>(find: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await find();
  } catch (error) {
    throw error instanceof ImggenError ? new NotChecked(error.message, { cause: error }) : error;
  }
}
