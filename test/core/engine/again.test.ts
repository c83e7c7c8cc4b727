import { describe, expect, it } from "vitest";
import {
  type EarlierState,
  findReusable,
  findUnfinished,
  getEarlierState,
  type RepeatDecision,
} from "../../../src/core/engine/again.ts";
import { LINES } from "../../support/records.ts";
import { DAY_MS, type Left, leftWorld } from "./again-world.ts";

const { started, waiting, accepted, completed, failed, unknown, refused, not_sent, dismissed } = LINES;
const WEEK_MS = 7 * DAY_MS;
const saved = {
  ...LINES.saved,
  files: [{ path: "/a.png", url: null, mediaType: "image/png", bytes: 9, sha256: "0", width: 8, height: 6 }],
};

type Kind = RepeatDecision["kind"] | "none, warned";

/** What a task is to its request, what `generate` does about it, and what `--reuse` does. */
type Row = [what: string, left: Left, standing: EarlierState, generate: Kind, reuse: Kind];

const AT_SERVICE: Row[] = [
  ["is saved", { lines: [accepted, completed, saved], isFinished: true }, "saved", "none", "saved"],
  ["is accepted", { lines: [accepted] }, "resumable", "continue", "continue"],
  ["is made", { lines: [accepted, completed] }, "resumable", "continue", "continue"],
  ["is a week old", { lines: [accepted], agoMs: WEEK_MS }, "resumable", "continue", "continue"],
  ["is older than a week", { lines: [accepted], agoMs: WEEK_MS + 1 }, "old", "none, warned", "continue"],
  ["is a living process's", { lines: [accepted], process: "alive" }, "alive", "none", "claimed"],
  ["is being submitted by a living process", { process: "alive" }, "alive", "none", "claimed"],
  ["waits after a 429", { lines: [waiting], process: "alive" }, "alive", "none", "claimed"],
  [
    "may be another machine's",
    { lines: [accepted], process: "elsewhere" },
    "out of sight",
    "claimed",
    "claimed",
  ],
  ["may be being submitted elsewhere", { process: "elsewhere" }, "out of sight", "claimed", "claimed"],
  [
    "was another machine's, until its time was over",
    { lines: [accepted], process: "elsewhere", agoMs: 61_000 },
    "resumable",
    "continue",
    "continue",
  ],
  [
    "was being submitted elsewhere",
    { process: "elsewhere", agoMs: 61_000 },
    "unknown",
    "uncertain",
    "uncertain",
  ],
  ["was being submitted when its process ended", {}, "unknown", "uncertain", "uncertain"],
  ["has lost its reply", { lines: [unknown] }, "unknown", "uncertain", "uncertain"],
  ["was never sent, and its process has ended", { isSent: false }, "none", "none", "none"],
  ["waited after a 429 when its process ended", { lines: [waiting] }, "none", "none", "none"],
  ["has failed", { lines: [accepted, failed], isFinished: true }, "failed", "none", "none"],
  ["was refused", { lines: [refused], isFinished: true }, "none", "none", "none"],
  ["was closed as not sent", { lines: [not_sent], isSent: false, isFinished: true }, "none", "none", "none"],
  ["was dismissed", { lines: [unknown, dismissed], isFinished: true }, "none", "none", "none"],
];

const FREE = { isPaid: false };
const ONE_LOST = [
  started,
  { ...completed, urls: [] },
  { ...started, request: 1, attempt: "1.1" },
  { ...unknown, request: 1, attempt: "1.1" },
];

const AT_GENERATOR: Row[] = [
  ["waits to be sent, and its process has ended", { work: {} }, "resumable", "continue", "continue"],
  ["waits in a living process", { work: {}, process: "alive" }, "alive", "none", "claimed"],
  ["may wait elsewhere", { work: {}, process: "elsewhere" }, "out of sight", "claimed", "claimed"],
  ["waits, and was cancelled", { work: {}, isCancelled: true }, "none", "none", "none"],
  [
    "waits in a living process, and was cancelled",
    { work: {}, process: "alive", isCancelled: true },
    "none",
    "none",
    "none",
  ],
  [
    "was sent for nothing, and was cancelled",
    { work: FREE, lines: [started], isCancelled: true },
    "resumable",
    "continue",
    "continue",
  ],
  [
    "was sent by a living process",
    { work: {}, lines: [started], process: "alive" },
    "alive",
    "none",
    "claimed",
  ],
  [
    "may be sent from elsewhere",
    { work: FREE, lines: [started], process: "elsewhere" },
    "out of sight",
    "claimed",
    "claimed",
  ],
  [
    "was sent for money by a dead process",
    { work: {}, lines: [started] },
    "unknown",
    "uncertain",
    "uncertain",
  ],
  [
    "was sent for money 8 days ago",
    { work: {}, lines: [started], agoMs: 8 * DAY_MS },
    "unknown",
    "uncertain",
    "uncertain",
  ],
  [
    "was sent for money, and something has arrived",
    { work: {}, lines: [started], hasReply: true },
    "resumable",
    "continue",
    "continue",
  ],
  [
    "was sent for nothing by a dead process",
    { work: FREE, lines: [started] },
    "resumable",
    "continue",
    "continue",
  ],
  [
    "has one of its replies lost",
    { work: { requests: 2 }, lines: ONE_LOST },
    "partly unknown",
    "uncertain",
    "uncertain",
  ],
];

describe.each([
  ["at the service", AT_SERVICE],
  ["at a generator", AT_GENERATOR],
])("an earlier task %s for a request that comes again", (_where, rows) => {
  it.each(rows)("that %s", async (_what, left, standing, generated, reused) => {
    const { deps, request, id } = await leftWorld(left);
    const task = await deps.ledger.find(id);
    if (task === null) throw new Error("no task");
    expect(getEarlierState(await deps.ledger.withLostReplies(task), deps.ledger)).toBe(standing);
    const unfinished = await findUnfinished(request, deps, () => false);
    expect(wordOf(unfinished)).toBe(generated);
    expect(wordOf(await findReusable(request, deps))).toBe(reused);
  });
});

function wordOf(again: RepeatDecision): Kind {
  return again.kind === "none" && again.warn !== null ? "none, warned" : again.kind;
}
