// How fast an image of 64 MiB is fetched over loopback, checked, hashed and synced, beside `curl -o`; and how much memory
// the largest image takes.
import { rmSync, writeFileSync } from "node:fs";
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
  warmMemory,
} from "./measure.js";

const ROUNDS = Number(process.argv[2] ?? 7);
const MIB = 1024 * 1024;
// Downloads of more than 100 MiB are refused.
const SIZES_MIB = [1, 64, 99];
const WARM_MIB = 500;

const folder = temporaryFolder();
const services = new Map();
for (const size of SIZES_MIB) {
  const image = path.join(folder, `${size}.png`);
  writeFileSync(image, storedPng(size * MIB));
  services.set(size, await startService(0, image, path.join(folder, `home-${size}`)));
}

let saved = 0;

/** The task is submitted without waiting, so that a poll and a download are measured. */
function save(size) {
  const { env } = services.get(size);
  const output = path.join(folder, `saved-${++saved}.png`);
  measureImggen(["generate", "a red fox", "--no-wait", "--output", output, "--model", "gamma-image-2"], {
    env,
  });
  warmMemory(WARM_MIB);
  const costs = measureImggen(["resume"], { env });
  rmSync(output);
  return costs;
}

function curl(size) {
  const output = path.join(folder, "curl.png");
  warmMemory(WARM_MIB);
  const costs = measure("curl", ["-sS", "-o", output, `${services.get(size).origin}/image.png`]);
  rmSync(output);
  return costs;
}

const canScript = isThere("sha256sum") && isThere("sync");

/** A script without imggen that does the same work: downloads, hashes and syncs. */
function script(size) {
  const output = path.join(folder, "script.png");
  warmMemory(WARM_MIB);
  const url = `${services.get(size).origin}/image.png`;
  const line = 'curl -sS -o "$1" "$2" && sha256sum "$1" && sync "$1"';
  const costs = measure("sh", ["-c", line, "sh", output, url]);
  rmSync(output);
  return costs;
}

const [smallest, large, largest] = SIZES_MIB;
const [ofSmallest, ofLarge, ofLargest, peers, scripts] = [[], [], [], [], []];
for (let round = 0; round < ROUNDS; round++) {
  ofLarge.push(save(large));
  peers.push(curl(large));
  if (canScript) scripts.push(script(large));
  ofSmallest.push(save(smallest));
  ofLargest.push(save(largest));
}
for (const service of services.values()) service.stop();

const of = (costs, name) => median(costs.map((each) => each[name]));
// Both start in a moment, so what the size adds is the download: the rest is the same.
const rate = (fewMs, manyMs) => ((large - smallest) * 1000) / (manyMs - fewMs);
const ours = rate(of(ofSmallest, "wallMs"), of(ofLarge, "wallMs"));
const theirs = (large * 1000) / of(peers, "wallMs");
const peaks = [ofSmallest, ofLarge, ofLargest].map((costs) => of(costs, "peakMiB"));
printTable(`An image of ${large} MiB over loopback, medians of ${ROUNDS}`, [
  fact("throughput over that of curl -o", ours / theirs, "×", `${shown(ours)} and ${shown(theirs)} MiB/s`),
  fact(
    "the whole command over curl -o",
    of(ofLarge, "wallMs") / of(peers, "wallMs"),
    "×",
    `${shown(of(ofLarge, "wallMs"), "ms")}`,
  ),
  ...(canScript ? [besideScript()] : []),
  // What is not written yet waits in memory.
  goal(`peak memory for an image of ${largest} MiB`, peaks.at(-1), {
    most: largest + 32,
    unit: "MiB",
    peer: `of ${smallest} and ${large} MiB: ${shown(peaks[0])} and ${shown(peaks[1])} MiB`,
  }),
]);

function besideScript() {
  const rateOfScript = (large * 1000) / of(scripts, "wallMs");
  return goal("throughput over that of curl -o, sha256sum and sync", ours / rateOfScript, {
    least: 1.2,
    unit: "×",
    peer: `${shown(rateOfScript)} MiB/s`,
  });
}
