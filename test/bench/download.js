// How fast an image of 64 MiB is fetched over loopback, checked, hashed and synced, beside `curl -o`; and that memory
// does not grow with the image.
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { storedPng } from "./image.js";
import {
  fact,
  goal,
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
const SIZES_MIB = [1, 64];
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

const [smallest, largest] = SIZES_MIB;
const [small, large, peers] = [[], [], []];
for (let round = 0; round < ROUNDS; round++) {
  large.push(save(largest));
  peers.push(curl(largest));
  small.push(save(smallest));
}
for (const service of services.values()) service.stop();

const of = (costs, name) => median(costs.map((each) => each[name]));
// Both start in a moment, so what the size adds is the download: the rest is the same.
const rate = (fewMs, manyMs) => ((largest - smallest) * 1000) / (manyMs - fewMs);
const ours = rate(of(small, "wallMs"), of(large, "wallMs"));
const theirs = (largest * 1000) / of(peers, "wallMs");
const growth = of(large, "peakMiB") - of(small, "peakMiB");
printTable(`An image of ${largest} MiB over loopback, medians of ${ROUNDS}`, [
  goal("throughput over that of curl -o", ours / theirs, {
    least: 0.5,
    unit: "×",
    peer: `${shown(ours)} and ${shown(theirs)} MiB/s`,
  }),
  fact(
    "the whole command over curl -o",
    of(large, "wallMs") / of(peers, "wallMs"),
    "×",
    `${shown(of(large, "wallMs"), "ms")}`,
  ),
  goal("memory more than for an image of 1 MiB", growth, {
    most: 32,
    unit: "MiB",
    peer: `${shown(of(small, "peakMiB"))} and ${shown(of(large, "peakMiB"))} MiB`,
  }),
]);
