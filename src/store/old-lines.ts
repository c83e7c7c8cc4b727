import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { serviceTerms } from "../task/intent.ts";
import { LEDGER_VERSION } from "./task-file.ts";

/** The version of task files that had one attempt at a time, and no parts. */
const OLD_VERSION = 1;

/** Mark of a process of an earlier version: no process of this one has it. */
const NO_HOLDER = "";

const ANSWERS: ReadonlySet<unknown> = new Set(["refused", "unknown", "accepted", "completed", "failed"]);

/** The lines of a task's file as this version writes them. Those of the current version are unchanged. */
export function upgraded(lines: readonly unknown[]): unknown[] {
  const intent = fieldsOf(lines[0]);
  // Earlier files of this version had the terms in a field of their own.
  if (intent.v === LEDGER_VERSION && isJsonObject(intent.work)) {
    const { work, ...facts } = intent;
    return [{ ...facts, ...fieldsOf(work) }, ...lines.slice(1)];
  }
  if (intent.v !== OLD_VERSION || intent.type !== "intent") return [...lines];
  const isAtService = !isJsonObject(intent.work);
  const terms = isAtService
    ? serviceTerms(fieldsOf(intent.request) as { quality?: string })
    : fieldsOf(intent.work);
  const attempts = new Map<number, number>();
  const name = (request: number) => `1.${request}.${attempts.get(request) ?? 0}`;
  const begun = {
    ...intent,
    v: LEDGER_VERSION,
    holder: NO_HOLDER,
    ...terms,
    ...(isAtService && { attempt: name(0) }),
  };
  const rest = lines.slice(1).flatMap((line): unknown[] => {
    const { type, request: given, ...facts } = fieldsOf(line);
    const request = typeof given === "number" ? given : 0;
    const ofAttempt = () => ({ ...facts, request, attempt: name(request) });
    if (type === "started" || type === "submitting") {
      attempts.set(request, (attempts.get(request) ?? 0) + 1);
      return [{ type: "started", ...ofAttempt() }];
    }
    // Its reply was lost: what is paid is not sent again.
    if (type === "waiting" && facts.sent === true) return [{ why: "", ...ofAttempt(), type: "unknown" }];
    if (type === "rate_limited" || type === "waiting") return [{ why: "", ...ofAttempt(), type: "waiting" }];
    if (type === "not_sent")
      return [
        { ...ofAttempt(), type: "waiting" },
        { ...facts, type, request },
      ];
    return [ANSWERS.has(type) ? { ...ofAttempt(), type } : line];
  });
  return [begun, ...rest];
}
