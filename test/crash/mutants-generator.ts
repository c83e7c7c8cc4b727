import { before, type Edit, instead, never } from "./operators.ts";

/** Bugs in the life of a paid request whose reply is its image, and the points where each is known to show. */
export const GENERATOR_MUTANTS: { bug: string; edits: Edit[]; at: RegExp }[] = [
  {
    bug: "resume sends a paid request again that was started",
    edits: [never("recoverRequest", "work.isPaid")],
    at: /^kill at headers$/,
  },
  {
    bug: "a request is sent before the disk knows of it",
    edits: [instead("attemptLog.begin", "writer.start", "null")],
    at: /^kill at body$/,
  },
  {
    bug: "a reply that has arrived is not looked for",
    edits: [instead("recoverRequest", "connection.provider.recover", "null")],
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "the reply is removed before its image is saved",
    edits: [before("saveMade", "deps.ledger.work.remove(task.writer.id);")],
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "resume empties the folder of a request before it looks into it",
    edits: [before("recoverRequest", "await deps.ledger.work.begin(writer.id, index);")],
    at: /^kill-after at operation \d+, close reply$/,
  },
  {
    bug: "a failure of unknown fate counts as one that cost nothing",
    edits: [never("recordEnd", "work.isPaid")],
    at: /^kill at body$/,
  },
];
