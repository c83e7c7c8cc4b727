import { COMFYUI, type GeneratorScenario, ONE_IMAGE, TWO_IMAGES, WITH_ID } from "./judge-generator.ts";
import { always, before, type Edit, instead, never, returns } from "./operators.ts";

/** Bugs in the life of a paid request whose reply is its image, and the points where each is known to show. */
export const GENERATOR_MUTANTS: { bug: string; edits: Edit[]; scenario: GeneratorScenario; at: RegExp }[] = [
  {
    bug: "resume sends a paid request again that was started",
    edits: [never("recoverRequest", "work.isPaid")],
    scenario: ONE_IMAGE,
    at: /^kill at headers$/,
  },
  {
    bug: "a request is sent before the disk knows of it",
    edits: [instead("attemptLog.begin", "writer.start", "null")],
    scenario: ONE_IMAGE,
    at: /^kill at body$/,
  },
  {
    bug: "a reply that has arrived is not looked for",
    edits: [instead("recoverRequest", "connection.provider.recover", "null")],
    scenario: ONE_IMAGE,
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "the reply is removed before its image is saved",
    edits: [before("saveMade", "deps.ledger.work.remove(task.writer.id);")],
    scenario: ONE_IMAGE,
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "resume empties the folder of a request before it looks into it",
    edits: [before("recoverRequest", "await deps.ledger.work.begin(writer.id, index);")],
    scenario: ONE_IMAGE,
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "a failure of unknown fate counts as one that cost nothing",
    edits: [never("recordEnd", "work.isPaid")],
    scenario: ONE_IMAGE,
    at: /^kill at body$/,
  },
  {
    bug: "a task of several requests goes on with the first alone",
    edits: [instead("begunTask", "work.requests", "1")],
    scenario: TWO_IMAGES,
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "a line about one request counts for all",
    edits: [always("isMeant", "isNamed")],
    scenario: TWO_IMAGES,
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "a job whose id was lost is sent again",
    edits: [never("recoverRequest", "work.isPaid")],
    scenario: WITH_ID,
    at: /^kill at half a reply$/,
  },
  {
    bug: "a job is polled before its id is recorded, and the reply that had it is removed",
    edits: [
      before("TaskWriter.#catchUp", `if (this.#unwritten.at(-1)?.type === "accepted") return true;`),
      before("awaitAccepted", "deps.ledger.work.remove(writer.id);"),
    ],
    scenario: WITH_ID,
    at: /^kill at poll: headers$/,
  },
  {
    bug: "ComfyUI is not asked for a job before it is sent again",
    edits: [instead("sent", "server.find", "null"), returns("whereabouts", "null")],
    scenario: COMFYUI,
    at: /^kill at POST \/prompt$/,
  },
  {
    bug: "an image of a job is saved under the provider's id of it",
    edits: [returns("underOwnId", "state")],
    scenario: COMFYUI,
    at: /^kill-after at operation \d+, link /,
  },
];
