// Mean delay (d) and mean polls (p) of the learned schedule, each over the reference client's on the same tasks,
// and how much more than the least possible delay that is for as many polls.
import { learnedSchedule } from "../../src/core/polling/learned-schedule.ts";
import {
  type Durations,
  draw,
  type Figures,
  figuresAfter,
  figuresOf,
  lognormal,
  mean,
  memoryless,
  mostWithin,
  pollTimes,
  watched,
} from "../support/simulated-tasks.ts";
import { bestSchedule } from "./best-schedule.ts";

const HISTORIES = Number(process.argv[2] ?? 40);
const TASKS = 20;
const REFERENCE_MS = 3000;
const KINDS = [8, 20, 45].flatMap((seconds) => [0.25, 0.3].map((sigma) => ({ seconds, sigma })));

function lognormalDensity(medianMs: number, sigma: number): (ageMs: number) => number {
  return (ageMs) =>
    Math.exp(-((Math.log(ageMs / medianMs) / sigma) ** 2) / 2) / (ageMs * sigma * Math.sqrt(2 * Math.PI));
}

/** The least delay for as many polls, over the reference client's. */
function leastDelay(seconds: number, sigma: number, polls: number): number {
  const durations = draw(lognormal(seconds * 1000, sigma), 20_000, 1);
  const delayMs = mean(durations.map((ms) => Math.ceil(ms / REFERENCE_MS) * REFERENCE_MS - ms));
  const referenceLooks = mean(durations.map((ms) => Math.ceil(ms / REFERENCE_MS)));
  const density = lognormalDensity(seconds * 1000, sigma);
  return bestSchedule(density, seconds * 5000, polls * referenceLooks).delayMs / delayMs;
}

function row(name: string, { delay, polls }: Figures, goal: string, more = ""): void {
  const columns = [delay, polls, delay * polls].map((value) => value.toFixed(2).padStart(6)).join("");
  console.log(`${name.padEnd(44)}${columns}   ${goal.padEnd(28)}${more}`);
}

console.log(`Means of ${HISTORIES} histories. d: delay, p: polls, each over the reference client's.`);
console.log(`${"".padEnd(44)}${["d", "p", "d·p"].map((name) => name.padStart(6)).join("")}   goal`);

for (const { seconds, sigma } of KINDS) {
  const durations = lognormal(seconds * 1000, sigma);
  const figures = figuresAfter(durations, TASKS, durations, HISTORIES);
  const least = leastDelay(seconds, sigma, figures.polls);
  const distance = `least d ${least.toFixed(2)}, ${((figures.delay / least - 1) * 100).toFixed(0)} % above it`;
  row(`${seconds} s, σ ${sigma}, after ${TASKS}`, figures, "d 0.40, p 1.50, d·p 0.55", distance);
}

for (const { seconds, sigma } of KINDS) {
  const tasks = draw(lognormal(seconds * 1000, sigma), 20_000, 1);
  row(`${seconds} s, σ ${sigma}, no history`, figuresOf(learnedSchedule([]), tasks), "d·p 1.00");
}
for (const seconds of [8, 20, 45]) {
  const durations = memoryless(seconds * 1000);
  row(
    `${seconds} s, memoryless, no history`,
    figuresOf(learnedSchedule([]), draw(durations, 20_000, 1)),
    "d·p 1.00",
  );
  row(
    `${seconds} s, memoryless, after ${TASKS}`,
    figuresAfter(durations, TASKS, durations, HISTORIES),
    "d·p 1.00",
  );
}

const twoKinds: Durations = (random) => lognormal(random() < 0.5 ? 8000 : 40_000, 0.25)(random);
row(`8 s or 40 s, σ 0.25, after ${TASKS}`, figuresAfter(twoKinds, TASKS, twoKinds, HISTORIES), "d·p 1.00");

for (const seconds of [8, 20, 45]) {
  for (const factor of [2, 3, 1 / 2, 1 / 3]) {
    const [before, after] = [lognormal(seconds * 1000, 0.25), lognormal(factor * seconds * 1000, 0.25)];
    const name = `${seconds} s, σ 0.25, then ${factor > 1 ? `${factor} × slower` : `${1 / factor} × quicker`}`;
    row(name, figuresAfter(before, TASKS, after, HISTORIES), factor > 1 ? "d 1.10" : "");
  }
}

for (const { seconds, sigma } of KINDS) {
  const known = watched(draw(lognormal(seconds * 1000, sigma), 200, 1)).slice(-50);
  const start = performance.now();
  const schedule = learnedSchedule(known);
  const ms = performance.now() - start;
  const most = mostWithin(pollTimes(schedule, 3_600_000), 180_000);
  const figures = figuresOf(schedule, draw(lognormal(seconds * 1000, sigma), 2000, 1));
  row(
    `${seconds} s, σ ${sigma}, after 200 of its own`,
    figures,
    "",
    `${most} polls in 180 s at most, ${ms.toFixed(1)} ms`,
  );
}
