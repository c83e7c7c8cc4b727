// What the ledger costs: a purchase with everything synced, and looking things up in a long history.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { fact, goal, measureImggen, median, printTable, shown, temporaryFolder } from "./measure.js";

const TASKS = Number(process.argv[2] ?? 100_000);
const FEW = 20;
const PURCHASES = 300;
const ROUNDS = 15;
/** A busy user: the tasks lie in folders of ten, one for each minute. */
const EACH_MS = 6_000;

const folder = temporaryFolder();
const { doneFolder, doneName, TaskWriter, Ledger, systemClock, systemProcesses, idTime } = await bundled();

/** The ledger as it is in the source, with what it keeps to itself. */
async function bundled() {
  const source = (file) => JSON.stringify(fileURLToPath(new URL(`../../src/${file}`, import.meta.url)));
  const entry = `
export { doneFolder, doneName, idTime } from ${source("store/ledger-name.ts")};
export { Ledger } from ${source("store/ledger.ts")};
export { TaskWriter } from ${source("core/task/task-writer.ts")};
export { systemClock } from ${source("lib/clock.ts")};
export { systemProcesses } from ${source("lib/processes.ts")};`;
  const input = path.join(folder, "ledger.mjs");
  writeFileSync(input, entry);
  const { output } = await build({ input, platform: "node", write: false, output: { codeSplitting: false } });
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}

const service = { baseUrl: "http://127.0.0.1:9/api", keyId: "0".repeat(16) };
const destination = { kind: "folder", folder, template: "{slug}.{ext}", overwrite: false };

function intentOf(number) {
  const prompt = `a red fox in the snow, number ${number}`;
  const request = { prompt, model: "gamma-image-2", quality: "1K" };
  return { request, service, credits: 6, destination };
}

function eventsOf(number, atMs) {
  const at = new Date(atMs).toISOString();
  const url = `http://127.0.0.1:9/image-${number}.png`;
  const sha256 = number.toString(16).padStart(8, "0").repeat(8);
  const file = { path: path.join(folder, `${number}.png`), url, mediaType: "image/png", bytes: 2048, sha256 };
  return [
    { type: "accepted", at, taskId: `task-${number}` },
    { type: "completed", at, urls: [url], seenMs: 12_000, pendingMs: 9_500 },
    { type: "saved", at, files: [{ ...file, width: 64, height: 64 }] },
  ];
}

/** One purchase after the other, as `generate` writes them down. @returns milliseconds of each */
async function purchases() {
  const ledger = new Ledger(path.join(folder, "purchases"), systemClock, systemProcesses());
  const times = [];
  for (let number = 0; number < PURCHASES; number++) {
    const start = performance.now();
    const task = await ledger.begin(intentOf(number));
    const writer = new TaskWriter(ledger, task, () => {});
    for (const event of eventsOf(number, Date.now())) await writer.write(event);
    await writer.finish();
    times.push(performance.now() - start);
  }
  return times;
}

/** Writes finished tasks where the ledger would have put them. @returns the home they are in */
function history(tasks) {
  const home = path.join(folder, `history-${tasks}`);
  const done = path.join(home, "state", "tasks", "done");
  const nowMs = Date.now();
  const owner = { pid: 1, host: "elsewhere", started: "1" };
  for (let number = 0; number < tasks; number++) {
    const atMs = nowMs - (tasks - number) * EACH_MS;
    const id = `${idTime(atMs)}-${number.toString(16).padStart(8, "0")}`;
    const at = new Date(atMs).toISOString();
    const intent = intentOf(number);
    const events = eventsOf(number, atMs);
    const [{ taskId }, , { files }] = events;
    const record = { id, intent, owner, submittedAt: at, state: { name: "saved", taskId, files } };
    const first = { type: "intent", v: 1, at, owner, ...intent };
    const place = path.join(done, doneFolder(id));
    mkdirSync(place, { recursive: true });
    const lines = [first, ...events].map((event) => `${JSON.stringify(event)}\n`);
    writeFileSync(path.join(place, doneName(record)), lines.join(""));
  }
  return home;
}

/** The same command in both homes by turns. @returns the medians, milliseconds */
function compare(args, fewHome, manyHome) {
  const [few, many] = [[], []];
  const time = (home) =>
    measureImggen(args, { env: { IMGGEN_HOME: home, IMGGEN_API_KEY: "sk-bench" } }).wallMs;
  for (let round = 0; round < ROUNDS; round++) {
    few.push(time(fewHome));
    many.push(time(manyHome));
  }
  return { few: median(few), many: median(many) };
}

function compared(name, { few, many }) {
  const peer = `with ${FEW} ${shown(few, "ms")}, with ${TASKS.toLocaleString("en-US")} ${shown(many, "ms")}`;
  return goal(name, many / few, { most: 1.3, unit: "×", peer });
}

const times = await purchases();
const [fewHome, manyHome] = [history(FEW), history(TASKS)];

/** As `status` and `resume` find a task. @returns the median, milliseconds */
async function find(taskId) {
  const ledger = new Ledger(path.join(manyHome, "state"), systemClock, systemProcesses());
  const times = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    const record = await ledger.find(taskId);
    times.push(performance.now() - start);
    if (record?.state.taskId !== taskId) throw new Error(`${taskId} was not found`);
  }
  return median(times);
}

const rows = [
  goal(`a purchase, all records synced (${PURCHASES})`, median(times), {
    most: 10,
    unit: "ms",
    peer: `nine in ten ≤ ${shown(times.toSorted((a, b) => a - b)[Math.floor(PURCHASES * 0.9)], "ms")}`,
  }),
  compared("imggen history", compare(["history"], fewHome, manyHome)),
  compared("imggen history --json", compare(["history", "--json"], fewHome, manyHome)),
  compared("imggen resume, nothing open", compare(["resume"], fewHome, manyHome)),
  fact("finding the newest task by its id", await find(`task-${TASKS - 1}`), "ms"),
  fact("finding the oldest task by its id", await find("task-0"), "ms"),
];
printTable(`The ledger with ${TASKS.toLocaleString("en-US")} finished tasks, medians`, rows);
rmSync(folder, { recursive: true, force: true });
