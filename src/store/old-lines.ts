import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { serviceTerms } from "../task/intent.ts";
import { LEDGER_VERSION } from "./task-file.ts";

/** Version with one attempt at a time and without parts. */
const OLD_VERSION = 1;

/** Holder mark for the files of earlier versions. Running processes have other marks. */
const NO_HOLDER = "";

const OUTCOME_TYPES: ReadonlySet<unknown> = new Set([
  "refused",
  "unknown",
  "accepted",
  "completed",
  "failed",
]);

export function upgradeLines(lines: readonly unknown[]): unknown[] {
  const intent = fieldsOf(lines[0]);
  // Earlier files of version 2 had the terms in the field `work`.
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
  const firstLine = {
    ...intent,
    v: LEDGER_VERSION,
    holder: NO_HOLDER,
    ...terms,
    ...(isAtService && { attempt: name(0) }),
  };
  const rest = lines.slice(1).flatMap((line): unknown[] => {
    const { type, request: requestIndex, ...facts } = fieldsOf(line);
    const request = typeof requestIndex === "number" ? requestIndex : 0;
    const attemptFields = () => ({ ...facts, request, attempt: name(request) });
    if (type === "started" || type === "submitting") {
      attempts.set(request, (attempts.get(request) ?? 0) + 1);
      return [{ type: "started", ...attemptFields() }];
    }
    // The attempt was sent without a reply. Its outcome is unknown, so that a paid request is not submitted again.
    if (type === "waiting" && facts.sent === true) return [{ why: "", ...attemptFields(), type: "unknown" }];
    if (type === "rate_limited" || type === "waiting")
      return [{ why: "", ...attemptFields(), type: "waiting" }];
    if (type === "not_sent")
      return [
        { ...attemptFields(), type: "waiting" },
        { ...facts, type, request },
      ];
    return [OUTCOME_TYPES.has(type) ? { ...attemptFields(), type } : line];
  });
  return [firstLine, ...rest];
}
