import { renameSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { incidentAt } from "./points.ts";
import { PLAIN, type Places, QUICK, type Scenario, type Step } from "./scenarios.ts";

/** A line of a manifest. */
export interface Row {
  prompt: string;
  /** Its file's name; absent leaves it to the program. */
  output?: string;
}

/** A batch of which one run is crashed; the same command again is to finish it. */
export interface BatchScenario extends Scenario {
  /** What the batch comes to. */
  rows: readonly Row[];
  /** The command that finishes it. */
  again: (places: Places) => string[];
  /** What happens to the folders after the crash. */
  between: (places: Places) => void;
  /** Whether the user clears the ledger of its tasks then. */
  isCleared: boolean;
  /** Whether `resume` goes before that. */
  resumeFirst: boolean;
  /** Rows whose first purchase was lost, and which a step submits once more. */
  boughtAgain: readonly Row[];
}

/** Costs 2 credits where no quality is asked for. */
const MODEL = ["--model", "gamma-image-2"];
const CREDITS_EACH = 2;

/** The text of a manifest of JSON lines. */
export function manifestOf(rows: readonly Row[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Runs a manifest, one row after the other, unless the flags say otherwise. @param file below the output folder */
export function batch(file: string, ...flags: string[]): Step {
  const argv = ({ out }: Places) => {
    const own = flags.includes("--concurrency") ? [] : ["--concurrency", "1"];
    return ["batch", file, ...QUICK, ...MODEL, "--output", out, ...own, ...flags];
  };
  return { argv, submits: [] };
}

/** Where a batch's images belong: what a row calls its own, and else as `generate` does it. */
export function placeIn(rows: readonly Row[]): Scenario["place"] {
  return (charge, image) =>
    rows.find(({ prompt }) => prompt === charge.prompt)?.output ?? PLAIN.place(charge, image);
}

const ROWS: Row[] = [{ prompt: "an owl", output: "owl.png" }, { prompt: "a fox" }, { prompt: "a fox" }];
const REORDERED = ROWS.toReversed();
const WHOLE = ["--max-credits", `${ROWS.length * CREDITS_EACH}`];
const WHOLE_BATCH = batch("rows.jsonl", ...WHOLE);

const FRESH: BatchScenario = {
  ...PLAIN,
  name: "batch",
  steps: [WHOLE_BATCH],
  rows: ROWS,
  place: placeIn(ROWS),
  // The budget is that of the whole, so one that submits twice is found out by itself too.
  again: WHOLE_BATCH.argv,
  between: () => {},
  isCleared: false,
  resumeFirst: false,
  boughtAgain: [],
  before: {
    "rows.jsonl": Buffer.from(manifestOf(ROWS)),
    "reordered.ndjson": Buffer.from(manifestOf(REORDERED)),
    "rest.jsonl": Buffer.from(manifestOf(ROWS.slice(1))),
  },
};

/** Moves the output folder to another name, and leaves a link in its place. */
function moveAway({ out }: Places): void {
  const elsewhere = path.join(path.dirname(out), "elsewhere");
  renameSync(out, elsewhere);
  symlinkSync(elsewhere, out);
}

const IMPATIENT_BATCH = batch("rows.jsonl", "--timeout", "150ms", ...WHOLE);
const LOST = { stage: "submit: charged", nth: 1, incident: "reset" } as const;
const UNPRICED = batch("rows.jsonl", "--yes");

/** The ways of a batch to be crashed at every point. */
export const BATCHES = {
  fresh: FRESH,
  resumedFirst: { ...FRESH, name: "batch, finished by resume and batch", resumeFirst: true },
  continued: {
    ...FRESH,
    name: "batch that goes on with accepted rows",
    runningPolls: 3,
    steps: [IMPATIENT_BATCH, WHOLE_BATCH],
    crashed: 1,
  },
  moved: { ...FRESH, name: "batch whose folder is moved behind a link after the crash", between: moveAway },
  turnedAway: { ...FRESH, name: "batch that is turned away", turnedAway: 2 },
  repeated: { ...FRESH, name: "batch of saved rows", steps: [WHOLE_BATCH, WHOLE_BATCH], crashed: 1 },
  reordered: {
    ...FRESH,
    name: "batch whose manifest was reordered and renamed",
    steps: [{ ...WHOLE_BATCH, incident: LOST }, batch("reordered.ndjson", ...WHOLE)],
    crashed: 1,
  },
  resubmitted: {
    ...FRESH,
    name: "batch --resubmit-unknown",
    steps: [{ ...UNPRICED, incident: LOST }, batch("rows.jsonl", "--yes", "--resubmit-unknown")],
    crashed: 1,
    again: UNPRICED.argv,
    boughtAgain: ROWS.slice(0, 1),
  },
} satisfies Record<string, BatchScenario>;

/** Removes the tasks of the ledger; the claims of the rows stay. */
function clear({ home }: Places): void {
  const ledger = path.join(home, "state", "tasks");
  for (const name of ["open", "done", "work"])
    rmSync(path.join(ledger, name), { recursive: true, force: true });
}

/** What its rows came to is known by their claims alone. */
export const CLEARED: BatchScenario = {
  ...FRESH,
  name: "batch whose tasks were cleared away",
  between: clear,
  isCleared: true,
};

/** Another process comes to the rows that the first one, which is held up at its first, has planned to submit. */
const HELD_UP = { step: batch("rest.jsonl", "--yes"), when: "poll: arrived" } as const;

export const BATCHES_TOGETHER = {
  finished: {
    ...FRESH,
    name: "batch beside one that finishes its other rows",
    steps: [{ ...WHOLE_BATCH, beside: HELD_UP }],
  },
  begun: {
    ...FRESH,
    name: "batch beside one that only begins its other rows",
    runningPolls: 3,
    steps: [
      { ...WHOLE_BATCH, beside: { ...HELD_UP, step: batch("rest.jsonl", "--yes", "--timeout", "150ms") } },
    ],
  },
  waiting: {
    ...FRESH,
    name: "batch beside one that waits out a 429",
    turnedAway: 1,
    // Long enough for the process beside to start and come to the row.
    retryAfter: 3,
    steps: [{ ...WHOLE_BATCH, beside: { step: batch("rows.jsonl", "--yes"), when: "submit: turned away" } }],
  },
} satisfies Record<string, BatchScenario>;

/** Holds the first process up until the one beside it has ended. */
export const STALLED = incidentAt("poll: arrived", "stall");
