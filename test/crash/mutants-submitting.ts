import type { Mutant } from "./mutant.ts";
import { before, instead, returns } from "./operators.ts";
import { incidentAt, UNDISTURBED } from "./points.ts";
import { IMPATIENT, SCENARIOS, TAKEN_OVER, TIMED_OUT, TOGETHER } from "./scenarios.ts";

/** What an ended process has sent waits to be sent again. */
export const SENT_AGAIN = instead(
  "recoverRequest",
  "recordReply",
  `claimedTask.record({ type: "waiting", at: isoTime(deps.clock.now()), why: "", request, attempt })`,
);

/** Bugs in which process may submit, wait for and finish a task. */
export const SUBMITTING_MUTANTS: Mutant[] = [
  {
    bug: "a request of unknown outcome is sent again",
    edits: [SENT_AGAIN],
    shows: { scenario: SCENARIOS.plain, at: /^kill at submit: charged$/ },
  },
  {
    bug: "an intent that counts as sent counts as one that waits",
    edits: [instead("taskFromIntent", "attempt", "undefined")],
    shows: { scenario: SCENARIOS.plain, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a process that has lost its task submits it",
    edits: [returns("ClaimedTask.isLost", "false")],
    shows: { scenario: TAKEN_OVER.waiting, at: UNDISTURBED },
  },
  {
    bug: "a process that has lost its task does not record the reply to its request",
    edits: [before("ClaimedTask.record", "if (this.isLost) return false;")],
    shows: { scenario: TAKEN_OVER.sent, at: incidentAt("submit: half a reply", "stall") },
  },
  {
    bug: "a living holder is not respected",
    edits: [returns("Holder.isClaimed", "false")],
    shows: { scenario: TOGETHER.submitAndResume, at: incidentAt("submit: half a reply", "stall") },
  },
  {
    bug: "a submit whose connection broke after it was sent is sent again",
    edits: [instead("submit", "error.wasSent", "error.timedOut")],
    shows: { scenario: IMPATIENT, at: incidentAt("submit: charged", "reset") },
  },
  {
    bug: "a submit answered with HTTP 500 is sent again",
    edits: [before("readSubmit", "if (reply.status >= 500) reply = { ...reply, status: 429 };")],
    shows: { scenario: IMPATIENT, at: incidentAt("submit: charged", "HTTP 500") },
  },
  {
    bug: "a wait that ran out counts as the task's failure",
    edits: [
      instead(
        "waitForJob",
        "withProgress",
        `$.then((end) => end.outcome === "timeout"
           ? { outcome: "ended", task: { status: "failed", errorCode: null }, seenMs: 0, pendingMs: null }
           : end)`,
      ),
    ],
    shows: { scenario: TIMED_OUT, at: UNDISTURBED },
  },
  {
    bug: "the attempt after a 429 is not recorded before it is sent",
    edits: [instead("RequestSubmitter.#recordStart", "#claimedTask.start", `"9.9"`)],
    shows: { scenario: SCENARIOS.turnedAway, at: /^kill at submit: charged$/ },
  },
];
