import { afterAll, describe, it } from "vitest";
import { everyNth, isLongRun } from "../support/holds.ts";
import { ProgramHost } from "../support/program-host.ts";
import { tryOnAnotherHost } from "./another-host.ts";
import { BUILT } from "./build-mutant.ts";
import { atEach, tryStrikesAfter } from "./pairs.ts";
import { EVERY_KILL, type Modes, type Point, pointsBetween } from "./points.ts";
import { expectSound } from "./report.ts";
import { GENERATORS } from "./scenarios.ts";
import { trySingles } from "./try-point.ts";

/** Every failure of a disk; a power cut takes more than what this harness knows of folders that are renamed. */
const EVERY_FAILURE: Modes = {
  write: ["half-written", "kill-after", "short", "EIO", "ENOSPC"],
  create: ["kill-after", "EIO", "ENOSPC"],
  sync: ["kill-after", "EIO", "ENOSPC"],
  change: ["kill-after", "EIO"],
  read: ["kill-before", "EIO"],
};

const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const timeout = isLongRun ? 3_600_000 : 300_000;

afterAll(() => program.recovery.close());

const isStage = ({ strike }: Point) => strike?.at === null;
/** What an image of the hosted service does not do as well: the exchange with a generator, and the records of that. */
const isOfItsOwn = (point: Point) =>
  isStage(point) || / (write|close) ([^.]*(\.\d)?\.jsonl|reply)$/.test(point.name);
const ofItsOwn = (points: Point[]) => points.filter(isOfItsOwn);
const others = (points: Point[]) =>
  pointsBetween(points, / open [^.]*\.jsonl$/, /$/).filter((point) => !isOfItsOwn(point));
/** What comes before and after is the same as with one image. */
const ofTheSecond = (points: Point[]) => ofItsOwn(pointsBetween(points, / close reply$/, / link .*-2\.png$/));

/** Each provider of the user's own, and those of its points that a quick run tries. */
const QUICK_PARTS: Record<keyof typeof GENERATORS, (points: Point[]) => Point[]> = {
  synchronous: (points) => [...everyNth(ofItsOwn(points), 3), ...everyNth(others(points), 15)],
  twoImages: (points) => everyNth(ofTheSecond(points), 2),
  twoReplies: (points) => everyNth(ofItsOwn(pointsBetween(points, / close reply$/, / link .*-4\.png$/)), 2),
  withId: (points) => everyNth(ofItsOwn(points), 4),
  package: (points) => everyNth(ofItsOwn(points), 6),
  sentByResume: (points) => everyNth(ofItsOwn(points), 5),
  comfyui: (points) => everyNth(ofItsOwn(points), 4),
  forgetful: (points) => everyNth(points.filter(isStage), 3),
};

describe("wherever a generate was stopped", () => {
  it.each(Object.keys(QUICK_PARTS) as (keyof typeof GENERATORS)[])(
    "a generator gets one request for an image, and what is paid for is saved or reported: %s",
    { timeout },
    async (key) => {
      const scenario = GENERATORS[key];
      const modes = isLongRun ? EVERY_FAILURE : EVERY_KILL;
      const chosen = isLongRun ? (points: Point[]) => points : QUICK_PARTS[key];
      // A host runs one command at a time, and a lost job is polled for a while before it counts as lost.
      const extra = isLongRun && scenario.provider.forgets ? 7 : 0;
      const hosts = [program.recovery, ...Array.from({ length: extra }, () => new ProgramHost(BUILT))];
      const parts = hosts.map((recovery, part) => {
        const choose = (points: Point[]) => chosen(points).filter((_, at) => at % hosts.length === part);
        return trySingles(scenario, { ...program, recovery }, { modes, choose });
      });
      const outcomes = (await Promise.all(parts)).flat();
      for (const host of hosts.slice(1)) host.close();
      expectSound(`a ${scenario.name}, stopped once`, outcomes);
    },
  );
});

it("whatever the disk says of a reply that has arrived, of a turn that ends or of an image that is saved, each is saved once", {
  timeout,
}, async () => {
  const failuresOf = (points: Point[], operation: RegExp) =>
    points.filter(({ name }) => name.startsWith("EIO ") && operation.test(name));
  const choose = (points: Point[]) => {
    const atReply = failuresOf(points, / (close|stat) (imggen-)?reply[^ ]*$| unlink turn\./);
    const firstTurn = atReply.findIndex(({ name }) => / unlink turn\./.test(name));
    const [atFolder] = failuresOf(points, / readdir \d-\d\.\d$/);
    const [atImage] = failuresOf(points, / read [^.]*\.png$/);
    return [...atReply.slice(0, firstTurn + 1), atFolder, atImage].filter((point) => point !== undefined);
  };
  const outcomes = await trySingles(GENERATORS.twoImages, program, { modes: EVERY_FAILURE, choose });
  expectSound("a disk that fails at a reply, or at the end of a turn", outcomes);
});

/** Where a task is left open, by how far its paid request was. */
const LEFT = [
  ["before its request", /^kill-after at operation \d+, write [^.]*-[0-9a-f]{8}\.jsonl$/],
  ["in flight", /^kill at submit: charged$/],
  ["with its reply on the disk", /^kill-after .* close reply$/],
] as const;

/** How many operations a resume takes, at most. */
const RESUME_OPERATIONS = 90;

describe.each(LEFT)("a paid request that was left %s", (_where, at) => {
  it("is sent once, and saved or reported, when the resume crashes as well", { timeout }, async () => {
    const kills = everyNth(atEach(RESUME_OPERATIONS, "kill-after"), 20);
    const outcomes = await tryStrikesAfter(GENERATORS.synchronous, at, 0, kills, program);
    expectSound("struck resumes", outcomes);
  });

  it("by a process of another host is left alone until its time is up", { timeout }, async () => {
    expectSound("another host", [await tryOnAnotherHost(GENERATORS.synchronous, at, program)]);
  });
});
