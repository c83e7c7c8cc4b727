import { errorCode, errorText } from "../../../lib/error-text.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import type { Session } from "../../session/session.ts";

/** `failed` must be fixed; what is `skipped` depends on something that is missing, which another check reports. */
export type CheckStatus = "ok" | "warning" | "failed" | "skipped";

/** What a check has found. */
export interface CheckResult {
  status: CheckStatus;
  /** A sentence if something is wrong; otherwise a few words without a full stop. */
  message: string;
  /** The next step; null if there is none. */
  hint: string | null;
  /** The result for programs: values by name. Empty if the check could not be made. */
  facts: Facts;
  /** All is well, and the message is news to a person. Other results are in `--verbose` and `--json` only. */
  isNews?: true;
}

type Facts = Readonly<Record<string, string | number | boolean | null>>;

type Run<Arguments extends unknown[]> = (...given: Arguments) => CheckResult | Promise<CheckResult>;

/** The checks that differ between a service, the user's own generator and the embedded sandbox. */
export type Target = Readonly<Record<"service" | "key" | "clock", Run<[]>>>;

/** One check. An ImggenError that it throws is its result: failed. */
export interface Check {
  name: string;
  /** @param target asked once for all checks */
  run: Run<[session: Session, target: Promise<Target>]>;
  /** The next step where an error names none. */
  next?: string;
}

export function ok(message: string, facts: Facts): CheckResult {
  return { status: "ok", message, hint: null, facts };
}

export function warning(message: string, hint: string, facts: Facts = {}): CheckResult {
  return { status: "warning", message, hint, facts };
}

export function failed(message: string, hint: string | null, facts: Facts = {}): CheckResult {
  return { status: "failed", message, hint, facts };
}

/** All is well, and the message is news. */
export function news(message: string, facts: Facts): CheckResult {
  return { ...ok(message, facts), isNews: true };
}

export function skipped(message: string, facts: Facts = {}): CheckResult {
  return { status: "skipped", message, hint: null, facts };
}

/** A check cannot be made, and why: a few words without a full stop. Another check reports the cause. */
export class NotChecked extends Error {}

/** What a check depends on. Another check reports an error of it. @throws NotChecked in place of an ImggenError */
export async function needed<Found>(why: string, find: () => Found | Promise<Found>): Promise<Found> {
  try {
    return await find();
  } catch (error) {
    throw error instanceof ImggenError ? new NotChecked(why) : error;
  }
}

/** Longer than the check of the service takes, on a busy machine too. */
const LONGEST_CHECK_MS = 7_000;

/** Makes a check. Everything but a bug in imggen is a result. @throws InterruptedError on a signal */
export async function make(
  { run, next = "Fix that, then run imggen doctor again." }: Check,
  session: Session,
  target: Promise<Target>,
): Promise<CheckResult> {
  const { signal, clock } = session.context;
  const ended = new AbortController();
  const timeUp = clock.sleep(LONGEST_CHECK_MS, AbortSignal.any([signal, ended.signal]));
  timeUp.catch(() => {});
  const late = () =>
    warning("No result within 7 s.", "A disk or a network that does not answer may be the cause.");
  const result = async () => run(session, target);
  try {
    return await Promise.race([result(), timeUp.then(late)]);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotChecked) return skipped(error.message);
    if (error instanceof ImggenError) return failed(error.message, error.hint ?? next);
    if (errorCode(error) === undefined) throw error;
    return failed(`It cannot be checked: ${errorText(error)}.`, next);
  } finally {
    ended.abort();
  }
}
