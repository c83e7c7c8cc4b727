import type { Mutant } from "./mutant.ts";
import { SENT_AGAIN } from "./mutants-submitting.ts";
import { always, before, instead, never, returns } from "./operators.ts";
import { GENERATORS } from "./scenarios.ts";

/** Bugs in the life of a request to a generator, and the points where each is known to show. */
export const GENERATOR_MUTANTS: Mutant[] = [
  {
    bug: "resume sends a paid request again that was started",
    edits: [SENT_AGAIN],
    shows: { scenario: GENERATORS.synchronous, at: /^kill at submit: headers$/ },
  },
  {
    bug: "a request is sent before the disk knows of it",
    edits: [instead("RequestSubmitter.#recordStart", "#claimedTask.start", `"9.9"`)],
    shows: { scenario: GENERATORS.synchronous, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a reply that has arrived is not looked for",
    edits: [instead("recoverRequest", "connection.provider.recover", "null")],
    shows: { scenario: GENERATORS.synchronous, at: /^kill-after at operation \d+, close reply$/ },
  },
  {
    bug: "the reply is removed before its image is saved",
    edits: [before("saveCompleted", "deps.ledger.work.remove(claimedTask.task.id);")],
    shows: { scenario: GENERATORS.synchronous, at: /^kill-after at operation \d+, close reply$/ },
  },
  {
    bug: "resume empties the folder of a request before it looks into it",
    edits: [before("recoverRequest", "deps.ledger.work.remove(claimedTask.task.id);")],
    shows: { scenario: GENERATORS.synchronous, at: /^kill-after at operation \d+, close reply$/ },
  },
  {
    bug: "a failure of unknown fate counts as one that cost nothing",
    edits: [never("recordReply", "intent.isPaid")],
    shows: { scenario: GENERATORS.synchronous, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a task of several requests goes on with the first alone",
    edits: [instead("taskFromIntent", "intent.requests", "1")],
    shows: { scenario: GENERATORS.twoImages, at: /^kill-after at operation \d+, close reply$/ },
  },
  {
    bug: "a line about one request counts for all",
    edits: [always("withLine", "isOfRequest")],
    shows: { scenario: GENERATORS.twoImages, at: /^kill-after at operation \d+, close reply$/ },
  },
  {
    bug: "a job whose id was lost is sent again",
    edits: [SENT_AGAIN],
    shows: { scenario: GENERATORS.withId, at: /^kill at submit: half a reply$/ },
  },
  {
    bug: "a job is polled before its id is recorded, and the reply that had it is removed",
    edits: [
      before(
        "ClaimedTask.#tryWriteLines",
        `if (this.#unwrittenLines.at(-1)?.type === "accepted") return true;`,
      ),
      before("waitForJob", "deps.ledger.work.remove(task.id);"),
    ],
    shows: { scenario: GENERATORS.withId, at: /^kill at poll: arrived$/ },
  },
  {
    bug: "a package is not asked to read a reply that lies on the disk",
    edits: [instead("packageProvider", "serviceProvider", "{ ...$, recover: async () => null }")],
    shows: { scenario: GENERATORS.package, at: /^kill-after at operation \d+, close reply$/ },
  },
  {
    bug: "ComfyUI is not asked for a job before it is sent again",
    edits: [instead("sendWorkflow", "server.find", "null"), returns("findSubmittedJob", "null")],
    shows: { scenario: GENERATORS.comfyui, at: /^kill at submit: charged$/ },
  },
  {
    bug: "resume saves an image of a job under the provider's id of it",
    edits: [
      instead("saveCompleted", "displayId", "(goal.isContinued ? task.requests[0].attempt.accepted.id : $)"),
    ],
    shows: { scenario: GENERATORS.comfyui, at: /^kill-after at operation \d+, link / },
  },
];
