import { expect, it } from "vitest";
import { chosenSeed, parseReportedSeeds, readLogSeed, readPngSeed } from "../../src/providers/seeds.ts";
import { buildPng, pngChunk } from "../lib/image/builders.ts";
import { BFL } from "../support/doubles/bfl.ts";
import type { Part, ServiceForm } from "../support/doubles/double.ts";
import { FAL } from "../support/doubles/fal.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { liveServer } from "../support/live-server.ts";
import { json, response } from "../support/scripted-server.ts";
import { ALONE, jobFor, opened } from "./job.ts";
import { serviceWorld } from "./service-world.ts";

/** A PNG with the text that stable-diffusion.cpp and AUTOMATIC1111 write. */
function withParameters(text: string): Buffer {
  const png = buildPng(8, 6);
  const end = png.length - pngChunk("IEND").length;
  const chunk = pngChunk("tEXt", Buffer.from(`parameters\0${text}`, "latin1"));
  return Buffer.concat([png.subarray(0, end), chunk, png.subarray(end)]);
}

const SETTINGS = "Steps: 20, CFG scale: 7, Variation seed: 5, Seed: 18446744073709551615, Size: 8x6";

it.each([
  [`a fox\nNegative prompt: rain\n${SETTINGS}`, "18446744073709551615"],
  [`Steps: 1, Seed: 3, Size: 8x6\n${SETTINGS}`, "18446744073709551615"],
  ["a fox, Seed: 3, at dawn", null],
  ["Steps: 20, Seed: 99999999999999999999, Size: 8x6", null],
])("finds the seed in a PNG's settings, and none in its prompt: %j", (text, seed) => {
  expect(readPngSeed(withParameters(text))).toBe(seed);
});

it("is none in an image without that text", () => {
  expect(readPngSeed(buildPng(8, 6))).toBeNull();
  expect(readPngSeed(Buffer.from("no image"))).toBeNull();
});

it.each([
  ["Using seed: 41\n 10%|#  | 1/10", 41],
  ["Loading\nRandom seed set to: 18446744073709551615\n", "18446744073709551615"],
  ["seed=7", 7],
  ["[INFO] seed 7", null],
  ["Prompt: a seed: 7 of a fox", null],
  ["Using seed: 1\nUsing seed: 2", null],
  ["Using seed: 1\nUsing seed: 1", 1],
  [undefined, null],
])("finds the seed that a log names in a line of its own: %j is %j", (log, seed) => {
  expect(readLogSeed(log)).toBe(seed);
});

it("takes no more seeds from a reply than there can be images, and none that is no seed", () => {
  expect(parseReportedSeeds(Array.from({ length: 1000 }, (_, at) => at))).toHaveLength(16);
  expect(parseReportedSeeds(["../x", -1, 1.5, null, 7])).toEqual([null, null, null, null, 7]);
  expect(parseReportedSeeds(["", {}])).toBeNull();
});

it("chooses seeds that follow each other for the images of a task, and others for another task", () => {
  const [first, second] = [0, 1].map((index) => Number(chosenSeed({ taskId: "task_1", index })));
  expect(second).toBe(Number(first) + 1);
  expect(chosenSeed({ taskId: "task_2", index: 0 })).not.toBe(first);
});

const LONG = "15860307465884635512";
const image = (url: string) => `{"images":[{"url":"${url}"}],"seed":${LONG}}`;

it.each<[string, ServiceForm, Partial<Record<Part, string>>, unknown]>([
  ["fal", FAL, { result: image("https://a.example/1.png") }, [LONG]],
  ["fal, without one", FAL, { result: '{"images":[{"url":"https://a.example/1.png"}]}' }, undefined],
  [
    "Replicate's log",
    REPLICATE,
    {
      poll: '{"id":"p","status":"succeeded","output":["https://a.example/1.png"],"logs":"Using seed: 41\\n"}',
    },
    [41],
  ],
  [
    "Replicate's output",
    REPLICATE,
    { poll: `{"id":"p","status":"succeeded","output":{"image":"https://a.example/1.png","seed":${LONG}}}` },
    [LONG],
  ],
  [
    "Black Forest Labs",
    BFL,
    { poll: '{"id":"p","status":"Ready","result":{"sample":"https://a.example/1.png","seed":42}}' },
    [42],
  ],
])("is reported by %s", async (_name, form, parts, seeds) => {
  const script = Object.fromEntries(Object.entries(parts).map(([part, body]) => [part, response(200, body)]));
  const { accepted, state } = await serviceWorld(form, script);
  const seen = await state(await accepted());
  expect(seen).toMatchObject({ status: "completed", urls: ["https://a.example/1.png"] });
  expect(seen && "seeds" in seen ? seen.seeds : undefined).toEqual(seeds);
});

it("is read from the image itself that a server of OpenAI's form sends", async () => {
  const data = [{ b64_json: withParameters(SETTINGS).toString("base64") }, {}];
  const server = await liveServer(json({ data }));
  const provider = await opened({ kind: "openai", name: "openai:x", url: `${server.origin}/v1` });
  expect(await provider.submit(await jobFor(), ALONE)).toMatchObject({
    outcome: "made",
    seeds: ["18446744073709551615"],
  });
});
