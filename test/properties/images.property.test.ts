import { renameSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { InsufficientCreditsError } from "../../src/api/api-errors.ts";
import { submitNew } from "../../src/core/engine/begin.ts";
import { continueNamed } from "../../src/core/engine/continue.ts";
import { singleAccountDeps } from "../../src/core/engine/deps.ts";
import { dismissTask } from "../../src/core/engine/dismiss.ts";
import { UsageError } from "../../src/lib/error-types.ts";
import { hurriedClock } from "../support/fake-clock.ts";
import { holdsInTime } from "../support/holds.ts";
import { png, sha256 } from "../support/images.ts";
import { type Answer, lost, refused, scriptedProvider } from "../support/scripted-provider.ts";
import { someProcesses } from "../support/some-processes.ts";
import { type TaskWorld, taskWorld } from "../support/task-world.ts";

const NO_CREDITS = new InsufficientCreditsError("No credits are left.", { charged: "no" });
const CRASH = new Error("the process has crashed");

/** The outcome of each request, and the number of images in its reply. */
const requests = fc.array(
  fc.record({
    outcome: fc.constantFrom("made", "made", "made", "lost", "unpaid", "missing"),
    images: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 3 },
);

/** The fault of a run after `saved` images. */
const trouble = fc.record({
  kind: fc.constantFrom("none", "interrupt", "disk", "crash"),
  saved: fc.integer({ min: 1, max: 3 }),
});

const run = fc.record({
  command: fc.constantFrom("resume", "resume", "elsewhere", "dismiss", "pay"),
  trouble,
});

/** Injects a fault. @returns a function that removes it */
function arrange({ kind, saved }: { kind: string; saved: number }, { deps, output, interrupt }: TaskWorld) {
  const away = `${output}.away`;
  let [count, isAway] = [0, false];
  deps.onProgress = ({ type }) => {
    if (type !== "saved") return;
    count += 1;
    if (count !== saved) return;
    if (kind === "interrupt") interrupt();
    if (kind === "crash") throw CRASH;
    if (kind !== "disk") return;
    renameSync(output, away);
    writeFileSync(output, "a file, and no folder");
    isAway = true;
  };
  return async () => {
    if (!isAway) return;
    await rm(output);
    await rename(away, output);
  };
}

async function digestsBelow(folder: string, isWanted: (name: string) => boolean): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  const images = names.filter((name) => name.endsWith(".png") && isWanted(name));
  return Promise.all(images.map(async (name) => sha256(await readFile(path.join(folder, name)))));
}

it("each image that is paid for is saved once, whatever stops a run, and each request is sent once", async () => {
  await holdsInTime(
    fc.asyncProperty(requests, trouble, fc.array(run, { maxLength: 6 }), async (plan, first, runs) => {
      const paid = new Set<string>();
      const submits = plan.map(() => 0);
      let hasCredits = false;
      const answer: Answer = async ({ index, folder }) => {
        const { outcome, images } = plan[index] ?? { outcome: "lost", images: 0 };
        if (outcome === "unpaid" && !hasCredits) return refused(NO_CREDITS);
        submits[index] = (submits[index] ?? 0) + 1;
        if (outcome === "lost") return lost();
        if (outcome === "missing") return { outcome: "accepted", taskId: `job${index}` };
        await mkdir(folder, { recursive: true });
        for (let at = 0; at < images; at++) {
          const image = png(10 * index + at);
          await writeFile(path.join(folder, `image${at}.png`), image);
          paid.add(sha256(image));
        }
        return { outcome: "made", usage: null };
      };
      const provider = scriptedProvider(answer);
      const lostJob = { outcome: "retry", why: "there is no such job", isMissing: true } as const;
      Object.assign(provider, {
        poll: async () => ({ ...lostJob, rateLimited: false, retryAfterMs: null }),
      });
      const [clock, processes] = [hurriedClock(), someProcesses(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)];
      const worldOf = (pid: number, places: Partial<TaskWorld> = {}) =>
        taskWorld("http://127.0.0.1:9/api", {
          ...{ provider, clock, processes: processes.as(pid) },
          ...(places.stateFolder && { stateFolder: places.stateFolder, output: places.output ?? "" }),
        });
      const world = await worldOf(1);
      const { destination, output } = world;
      const wait = { timeoutMs: null, schedule: null };

      /** Ends a run as its process ends it: with a report, a usage error or a crash. */
      const settle = async (running: Promise<unknown>, end: () => Promise<void>) => {
        const error = await running.then(
          () => null,
          (reason: unknown) => reason,
        );
        await end();
        if (error !== null && error !== CRASH && !(error instanceof UsageError)) throw error;
      };
      const request = { prompt: "a fox", model: "flux", maxImages: plan.length };
      const spec = { checked: { request, credits: null, warnings: [] }, destination, wait };
      await settle(submitNew(spec, world.deps), arrange(first, world));

      const calm = { kind: "none", saved: 1 };
      const last = ["resume", "dismiss", "resume"].map((command) => ({ command, trouble: calm }));
      for (const [at, { command, trouble }] of [...runs, ...last].entries()) {
        processes.die(at + 1);
        hasCredits ||= command === "pay";
        const later = await worldOf(at + 2, world);
        const task = await later.deps.ledger.find("task_1");
        if (task === null || command === "pay") continue;
        const end = arrange(trouble, later);
        const reason = { why: "by the user", replacement: null };
        const elsewhere = { ...destination, folder: path.join(output, "elsewhere") };
        const to =
          command === "elsewhere"
            ? { ...elsewhere, kind: "folder" as const, template: "{slug}.{ext}" }
            : null;
        const running =
          command === "dismiss"
            ? dismissTask(task, reason, later.deps.ledger)
            : continueNamed(task, { wait, destination: to, sends: true }, singleAccountDeps(later.deps));
        await settle(running, end);
      }
      const saved = await digestsBelow(output, () => true);
      expect([...paid].filter((digest) => !saved.includes(digest))).toEqual([]);
      const inFolder = await digestsBelow(output, (name) => path.dirname(name) === ".");
      expect(new Set(inFolder).size).toBe(inFolder.length);
      expect(Math.max(...submits)).toBeLessThanOrEqual(1);
    }),
    2_000,
  );
});
