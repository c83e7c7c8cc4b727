import type { Mutant } from "./mutant.ts";
import { incidentAt, UNDISTURBED } from "./points.ts";
import { IMPATIENT, SCENARIOS, TIMED_OUT, TOGETHER } from "./scenarios.ts";

/** Bugs in which process may submit, wait for and finish a task. */
export const SUBMITTING_MUTANTS: Mutant[] = [
  {
    bug: "a request of unknown outcome is sent again",
    edits: [
      {
        find: "  if (isUnknown(record)) {\n",
        replace: `  if (isUnknown(record)) {
    const account = await deps.depsFor(intent.service, record.id);
    await account.connection.service.submit(intent.request);
`,
      },
    ],
    shows: { scenario: SCENARIOS.plain, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a claim replaces another's",
    edits: [
      {
        find: 'return (await publishOnce(draft, file)) !== "exists";',
        replace: `(await import("node:fs")).renameSync(draft, file); return true;`,
      },
    ],
    shows: { scenario: TOGETHER.resumes, at: incidentAt("download: half", "stall") },
  },
  {
    bug: "a living owner is not respected",
    edits: [
      { find: "return firstOwner !== null && processes.isAlive(firstOwner);", replace: "return false;" },
    ],
    shows: { scenario: TOGETHER.generateAndResume, at: incidentAt("poll: arrived", "stall") },
  },
  {
    bug: "a submit whose connection broke after it was sent is sent again",
    edits: [{ find: "if (!error.sent) return", replace: "if (!error.timedOut) return" }],
    shows: { scenario: IMPATIENT, at: incidentAt("submit: charged", "reset") },
  },
  {
    bug: "a submit answered with HTTP 500 is sent again",
    edits: [{ find: "  if (status === 429) {", replace: "  if (status === 429 || status >= 500) {" }],
    shows: { scenario: IMPATIENT, at: incidentAt("submit: charged", "HTTP 500") },
  },
  {
    bug: "a wait that ran out counts as the task's failure",
    edits: [
      {
        find: `  if (waited.outcome === "failed") return recordFailure(task, waited, report, deps);`,
        replace: `  if (waited.outcome === "failed" || waited.outcome === "timeout") return recordFailure(task, { errorCode: null }, report, deps);`,
      },
    ],
    shows: { scenario: TIMED_OUT, at: UNDISTURBED },
  },
  {
    bug: "the attempt after a 429 is not recorded before it is sent",
    edits: [
      {
        find: `    return this.#writer.announce({ type: "submitting", at: isoTime(now), until });`,
        replace: `    return until === "" ? this.#writer.announce({ type: "submitting", at: until, until }) : null;`,
      },
    ],
    shows: { scenario: SCENARIOS.turnedAway, at: /^kill at submit: charged$/ },
  },
];
