// What a batch costs: its time beside the ideal, its processor time beside a shell loop of curl and jq, its memory.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { storedPng } from "./image.js";
import {
  fact,
  goal,
  isThere,
  measure,
  measureImggen,
  median,
  printTable,
  shown,
  startService,
  temporaryFolder,
} from "./measure.js";

const ROUNDS = Number(process.argv[2] ?? 3);
const ROWS = 600;
const CONCURRENCY = 32;
const TASK_MS = 1000;
const QUICK = ["--poll-interval", "100ms"];
const IDEAL_MS = (ROWS / CONCURRENCY) * TASK_MS;

const folder = temporaryFolder();
const image = path.join(folder, "image.png");
writeFileSync(image, storedPng(2048));

function manifest(rows) {
  const file = path.join(folder, `${rows}.txt`);
  const prompts = Array.from({ length: rows }, (_, row) => `a red fox in the snow, number ${row + 1}\n`);
  writeFileSync(file, prompts.join(""));
  return file;
}

let runs = 0;

async function batch(rows, concurrency, taskMs, flags = []) {
  const home = path.join(folder, `run-${++runs}`);
  const service = await startService(taskMs, image, home);
  const output = path.join(home, "images");
  const args = ["batch", manifest(rows), "--output", output, "--yes", "--json"];
  const costs = measureImggen([...args, "--concurrency", `${concurrency}`, ...flags], { env: service.env });
  service.stop();
  return costs;
}

/** A script without imggen: submit, poll every second, download. */
const LOOP = `
id=$(curl -sS -H "authorization: Bearer $IMGGEN_API_KEY" -H "content-type: application/json" \
  -d "{\\"prompt\\":\\"a red fox in the snow, number $1\\",\\"model\\":\\"vendor1/alpha-2\\"}" \
  "$IMGGEN_BASE_URL/generate-image" | jq -r .data.taskId)
url=
while [ -z "$url" ]; do
  sleep 1
  url=$(curl -sS -H "authorization: Bearer $IMGGEN_API_KEY" "$IMGGEN_BASE_URL/generate-image?taskId=$id" \
    | jq -r 'if .data.status == "completed" then .data.resultUrl[0] else empty end')
done
curl -sS -o "$OUTPUT/$id.png" "$url"
`;

async function shellLoop() {
  const home = path.join(folder, `run-${++runs}`);
  const service = await startService(TASK_MS, image, home);
  const script = path.join(folder, "row.sh");
  writeFileSync(script, LOOP);
  const command = `mkdir -p "$OUTPUT" && seq ${ROWS} | xargs -P ${CONCURRENCY} -n 1 sh ${script}`;
  const env = { ...service.env, OUTPUT: path.join(home, "images") };
  const costs = measure("sh", ["-c", command], { env });
  service.stop();
  return costs;
}

const small = [];
const steady = [];
const loops = [];
// Medians here too: garbage collection makes the peak differ by 20 MiB from run to run.
const [quick600, quick6000] = [[], []];
const hasPeer = isThere("curl") && isThere("jq");
for (let round = 0; round < ROUNDS; round++) {
  small.push(await batch(ROWS, CONCURRENCY, TASK_MS));
  steady.push(await batch(ROWS, CONCURRENCY, TASK_MS, ["--poll-interval", "250ms"]));
  if (hasPeer) loops.push(await shellLoop());
  quick600.push(await batch(600, 64, 50, QUICK));
  quick6000.push(await batch(6000, 64, 50, QUICK));
}
const of = (costs, name) => median(costs.map((each) => each[name]));
const wallMs = of(small, "wallMs");
const cpuMs = of(small, "cpuMs") / ROWS;

const peaks = [quick600, quick6000].map((costs) => of(costs, "peakMiB"));
const perRowKiB = ((peaks[1] - peaks[0]) * 1024) / 5400;

const dryRun = (rows) =>
  measureImggen(["batch", manifest(rows), "--dry-run"], { env: { IMGGEN_HOME: folder } });
const dry10 = dryRun(10_000);
const dry100 = dryRun(100_000);

const loopWall = hasPeer ? `shell loop ${shown(of(loops, "wallMs") / IDEAL_MS)} ×` : "";
const rows = [
  goal(`wall time over the ideal (${shown(wallMs / 1000)} s of ${IDEAL_MS / 1000} s)`, wallMs / IDEAL_MS, {
    most: 1.2,
    unit: "×",
    peer: loopWall,
  }),
  goal("the same with --poll-interval 250ms", of(steady, "wallMs") / IDEAL_MS, {
    most: 1.2,
    unit: "×",
    peer: loopWall,
  }),
  hasPeer
    ? goal(
        `processor time a row of a shell loop's, over its own (${shown(cpuMs)} ms)`,
        of(loops, "cpuMs") / ROWS / cpuMs,
        { least: 12, unit: "×", peer: `shell loop ${shown(of(loops, "cpuMs") / ROWS)} ms` },
      )
    : fact("processor time a row (no curl or no jq here to compare with)", cpuMs, "ms"),
  goal(`peak memory, ${ROWS} rows`, of(small, "peakMiB"), { most: 120, unit: "MiB" }),
  goal("memory a row more, 600 to 6,000 rows", perRowKiB, {
    most: 6,
    unit: "KiB",
    peer: `${shown(peaks[0])} and ${shown(peaks[1])} MiB`,
  }),
  fact(
    "6,000 rows of 50 ms at concurrency 64",
    of(quick6000, "wallMs") / 1000,
    "s",
    `${shown(of(quick6000, "cpuMs") / 6000)} ms processor a row`,
  ),
  fact("--dry-run of 10,000 rows", dry10.wallMs / 1000, "s", `${shown(dry10.peakMiB)} MiB`),
  fact("--dry-run of 100,000 rows", dry100.wallMs / 1000, "s", `${shown(dry100.peakMiB)} MiB`),
];
printTable(
  `A batch of ${ROWS} rows at concurrency ${CONCURRENCY}, tasks of ${TASK_MS} ms, medians of ${ROUNDS}`,
  rows,
);
