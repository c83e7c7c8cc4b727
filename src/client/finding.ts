import { ImggenError } from "../lib/error-types.ts";

export interface Finding {
  /** `news`: a success that is always displayed. `failed`: a problem that the user must fix. */
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

/** Thrown by a check that depends on an invalid value. Another check reports the invalid value. */
export class NotChecked extends Error {}

/** Reads a value that a check depends on. @throws NotChecked instead of an ImggenError, which another check reports */
export async function orNotChecked<Value>(find: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await find();
  } catch (error) {
    throw error instanceof ImggenError ? new NotChecked(error.message, { cause: error }) : error;
  }
}
