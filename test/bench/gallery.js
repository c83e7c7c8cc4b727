// What a gallery costs: a page of many images, made for the first time and made again.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32 } from "node:zlib";
import { BIN, fact, goal, measureImggen, printTable, temporaryFolder } from "./measure.js";

const IMAGES = Number(process.argv[2] ?? 2000);

const folder = temporaryFolder();
const env = { IMGGEN_HOME: path.join(folder, "home") };
const pictures = path.join(folder, "pictures");
mkdirSync(pictures);

/** A picture of the sandbox: 1024 × 1024 pixels. */
function samplePicture() {
  const prompt = ["generate", "a red fox", "-m", "gamma-image-2", "-q", "1K"];
  const output = path.join(folder, "sample.png");
  const { status } = spawnSync(process.execPath, [BIN, ...prompt, "--sandbox", "-o", output], {
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`The sandbox made no picture: ${status}`);
  return readFileSync(output);
}

/** The same picture with a comment of its own, so that no two files are equal. */
function withComment(png, comment) {
  const data = Buffer.from(`tEXtComment\0${comment}`);
  const chunk = Buffer.alloc(data.length + 8);
  chunk.writeUInt32BE(data.length - 4, 0);
  data.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(data), chunk.length - 4);
  const end = png.length - 12;
  return Buffer.concat([png.subarray(0, end), chunk, png.subarray(end)]);
}

const png = samplePicture();
for (let at = 0; at < IMAGES; at++)
  writeFileSync(path.join(pictures, `${at}.png`), withComment(png, String(at)));
const first = measureImggen(["gallery", pictures], { env });
const made = readdirSync(path.join(pictures, "gallery-thumbnails")).length - 1;
if (made !== IMAGES) throw new Error(`${made} thumbnails of ${IMAGES} images`);
const again = measureImggen(["gallery", pictures], { env });

const size = `${(png.length / 2 ** 20).toFixed(2)} MiB each`;
printTable(`A gallery of ${IMAGES} images, ${size}`, [
  goal("made for the first time", first.wallMs / 1000, { most: 60, unit: "s" }),
  fact("  its processor time", first.cpuMs / 1000, "s"),
  goal("  its memory", first.peakMiB, { most: 300, unit: "MiB" }),
  goal("made again, nothing changed", again.wallMs / 1000, { most: 2, unit: "s" }),
]);
