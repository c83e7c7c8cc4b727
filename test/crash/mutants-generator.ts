import type { Edit } from "./mutant.ts";

/** Bugs in the queue before a paid generator, and the points where each is known to show. */
export const GENERATOR_MUTANTS: { bug: string; edits: Edit[]; at: RegExp }[] = [
  {
    bug: "a paid request whose fate is unknown is sent again",
    edits: [{ find: 'if (isPaid) return failed("unknown", why);', replace: "" }],
    at: /^kill at headers$/,
  },
  {
    bug: "a request is sent before the disk knows of it",
    edits: [
      {
        find: "if (!(await this.#create(next.steps, step))) {",
        replace: 'if (step.type !== "started" && !(await this.#create(next.steps, step))) {',
      },
    ],
    at: /^kill at body$/,
  },
  {
    bug: "resume does not know that a task is paid",
    edits: [{ find: "return task.isPaid || isPaid;", replace: "return isPaid;" }],
    at: /^kill at headers$/,
  },
  {
    bug: "a reply that has arrived is not looked for",
    edits: [
      {
        find: "const image = await deps.generator.recover(jobOf(folder, state));",
        replace: "const image = null;",
      },
    ],
    at: /^kill-after at operation \d+, writeFile image$/,
  },
  {
    bug: "a failure of unknown fate counts as one that cost nothing",
    edits: [
      {
        find: 'failures.find(({ outcome }) => outcome === "unknown") ?? failures[0]',
        replace: '({ ...failures[0], outcome: "refused" })',
      },
    ],
    at: /^kill at body$/,
  },
];
