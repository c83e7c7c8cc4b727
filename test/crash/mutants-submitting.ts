import type { Mutant } from "./mutant.ts";
import { before, instead, returns } from "./operators.ts";
import { incidentAt, UNDISTURBED } from "./points.ts";
import { IMPATIENT, SCENARIOS, TIMED_OUT, TOGETHER } from "./scenarios.ts";

/** Bugs in which process may submit, wait for and finish a task. */
export const SUBMITTING_MUTANTS: Mutant[] = [
  {
    bug: "a request of unknown outcome is sent again",
    edits: [
      before(
        "finishOwned",
        `if (["intent", "unknown"].includes(owned.record.state.name)) {
           const { connection } = await deps.depsFor(owned.record.intent, owned.record.id);
           await connection.provider.submit({ request: owned.record.intent.request });
         }`,
      ),
    ],
    shows: { scenario: SCENARIOS.plain, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a claim replaces another's",
    edits: [
      instead(
        "createClaim",
        "publishOnce",
        `import("node:fs").then(({ renameSync }) => renameSync(draft, file))`,
      ),
    ],
    shows: { scenario: TOGETHER.resumes, at: incidentAt("download: half", "stall") },
  },
  {
    bug: "a living owner is not respected",
    edits: [instead("isClaimed", "isOwnerGone", "true"), instead("takeLease", "isHeld", "false")],
    shows: { scenario: TOGETHER.generateAndResume, at: incidentAt("poll: arrived", "stall") },
  },
  {
    bug: "a submit whose connection broke after it was sent is sent again",
    edits: [instead("submit", "error.sent", "error.timedOut")],
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
        "finishTask",
        "awaitTask",
        `$.then((end) => end.outcome === "timeout"
           ? { outcome: "ended", task: { status: "failed", errorCode: null }, seenMs: 0, pendingMs: null }
           : end)`,
      ),
    ],
    shows: { scenario: TIMED_OUT, at: UNDISTURBED },
  },
  {
    bug: "the attempt after a 429 is not recorded before it is sent",
    edits: [returns("beginAttempt", "null")],
    shows: { scenario: SCENARIOS.turnedAway, at: /^kill at submit: charged$/ },
  },
];
