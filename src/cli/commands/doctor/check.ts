import { errorCode, errorText } from "../../../lib/error-text.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import type { Session } from "../../session/session.ts";

/** What a check has found. */
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

type Run<Asked extends unknown[]> = (...asked: Asked) => Finding | null | Promise<Finding | null>;

/** The checks that differ between a service, the user's own generator and the embedded sandbox. */
export type Target = Readonly<Record<"service" | "key" | "clock", Run<[]>>>;

/** One check. An ImggenError that it throws is its finding: failed. Null if there is nothing to check. */
export interface Check {
  name: string;
  /** @param target asked once for all checks */
  run: Run<[session: Session, target: Promise<Target>]>;
  /** The next step where an error names none. */
  next?: string;
}

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
class NotChecked extends Error {}

/** What a check depends on. Another check reports an error of it. @throws NotChecked in place of an ImggenError */
export async function needed<Found>(find: () => Found | Promise<Found>): Promise<Found> {
  try {
    return await find();
  } catch (error) {
    throw error instanceof ImggenError ? new NotChecked(error.message, { cause: error }) : error;
  }
}

/** Longer than the check of the service takes, on a busy machine too. */
const LONGEST_CHECK_MS = 7_000;
const LATE = "A disk or a network that does not answer may be the cause.";

/** Makes a check. Everything but a bug in imggen is a finding. @throws InterruptedError on a signal */
export async function make(
  { run, next = "Fix that, then run imggen doctor again." }: Check,
  session: Session,
  target: Promise<Target>,
): Promise<Finding> {
  const { signal, clock } = session.context;
  const ended = new AbortController();
  const timeUp = clock.sleep(LONGEST_CHECK_MS, AbortSignal.any([signal, ended.signal]));
  const late = timeUp.then(() => warning("No result within 7 s.", LATE, {}));
  late.catch(() => {});
  try {
    const finding = await Promise.race([(async () => run(session, target))(), late]);
    return finding ?? skipped("not checked", {});
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotChecked) return skipped(error.message, {});
    if (error instanceof ImggenError) return failed(error.message, error.hint ?? next, {});
    if (errorCode(error) === undefined) throw error;
    return failed(`It cannot be checked: ${errorText(error)}.`, next, {});
  } finally {
    ended.abort();
  }
}
