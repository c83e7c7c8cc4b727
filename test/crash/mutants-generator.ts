import { type Edit, instead, never } from "./operators.ts";

/** Bugs in the queue before a paid generator, and the points where each is known to show. */
export const GENERATOR_MUTANTS: { bug: string; edits: Edit[]; at: RegExp }[] = [
  {
    bug: "a paid request whose fate is unknown is sent again",
    edits: [never("lost", "isPaid")],
    at: /^kill at headers$/,
  },
  {
    bug: "a request is sent before the disk knows of it",
    edits: [instead("TaskFolder.record", "#create", `step.type === "started" || $`)],
    at: /^kill at body$/,
  },
  {
    bug: "resume does not know that a task is paid",
    edits: [never("isPaidTask", "task.isPaid")],
    at: /^kill at headers$/,
  },
  {
    bug: "a reply that has arrived is not looked for",
    edits: [instead("recoverImage", "generator.recover", "null")],
    at: /^kill-after at operation \d+, writeFile image$/,
  },
  {
    bug: "a failure of unknown fate counts as one that cost nothing",
    edits: [instead("afterImage", "failures.find", `{ ...failures[0], outcome: "refused" }`)],
    at: /^kill at body$/,
  },
];
