import { type Finding, failed, NotChecked, skipped, warning } from "../../../client/finding.ts";
import type { TargetCheck } from "../../../client/targets/target.ts";
import { errorCode, errorText } from "../../../lib/error-text.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import type { Session } from "../../session/session.ts";

type Run<Asked extends unknown[]> = (...asked: Asked) => Finding | null | Promise<Finding | null>;

/** One check. An ImggenError that it throws is its finding: failed. Null if there is nothing to check. */
export interface Check {
  name: string;
  /** @param target asked once for all checks */
  run: Run<[session: Session, target: Promise<TargetCheck>]>;
  /** The next step where an error names none. */
  next?: string;
}

/** Longer than the check of the service takes, on a busy machine too. */
const LONGEST_CHECK_MS = 7_000;
const LATE = "A disk or a network that does not answer may be the cause.";

/** Makes a check. Everything but a bug in imggen is a finding. @throws InterruptedError on a signal */
export async function make(
  { run, next = "Fix that, then run imggen doctor again." }: Check,
  session: Session,
  target: Promise<TargetCheck>,
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
