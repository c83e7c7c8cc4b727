import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { findImageUrls, findOtherImages, findReplyImageUrls } from "../../src/providers/found-images.ts";
import { resultFile, writeReply } from "../../src/providers/stored-reply.ts";
import { FAL } from "../support/doubles/fal.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { OPENAI } from "../support/doubles/synchronous.ts";
import { PICTURE, png } from "../support/images.ts";
import { json } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { jobFor, polling } from "./job.ts";
import { serviceWorld } from "./service-world.ts";

const URL = "https://a.example/1.png";
const OTHER = "https://a.example/2.png";
const BASE64 = PICTURE.toString("base64");
const DATA = `data:image/png;base64,${BASE64}`;
const READ = `data:application/octet-stream;base64,${BASE64}`;

describe("the images of a result", () => {
  it.each<[unknown, string[]]>([
    [URL, [URL]],
    [
      [URL, OTHER, URL],
      [URL, OTHER],
    ],
    [{ image: URL }, [URL]],
    [{ images: [{ url: URL }, { url: OTHER }] }, [URL, OTHER]],
    [
      [[{ image: { url: URL } }], [[OTHER]]],
      [URL, OTHER],
    ],
    [{ output: { images: [URL] } }, [URL]],
    [{ outputs: { "9": { images: [{ url: URL }] } } }, [URL]],
    [{ result: { image_url: URL } }, [URL]],
    [DATA, [DATA]],
    [{ sample: BASE64 }, [READ]],
    [{ b64_json: BASE64, url: URL, revised_prompt: OTHER }, [READ]],
    [{ url: URL, file_data: BASE64, content_type: "image/png" }, [URL]],
    [{ url: URL, thumbnail: OTHER }, [URL]],
  ])("%j are found", (result, urls) => {
    expect(findImageUrls(result)).toEqual(urls);
  });

  it.each<[unknown]>([
    [null],
    ["I cannot draw that: see https://a.example/rules"],
    ["file:///etc/passwd"],
    [{ url: "not a URL" }],
    [{ input: { image: URL }, urls: { get: OTHER }, logs: URL, error: { url: URL } }],
    [{ prompt: URL, input_image: OTHER, reference_images: [DATA] }],
    [{ url: URL, respect_moderation: false }],
  ])("%j are none", (result) => {
    expect(findImageUrls(result)).toEqual([]);
  });

  it("are none of a job's own addresses", () => {
    const said = { status_url: OTHER, cancel_url: OTHER, response_url: OTHER, image: { url: URL } };
    expect(findReplyImageUrls(said)).toEqual([URL]);
  });

  it("are not looked for below thousands of levels", () => {
    expect(findImageUrls(JSON.parse(`${"[".repeat(3000)}"${URL}"${"]".repeat(3000)}`))).toEqual([]);
  });
});

describe("an image that the request held", () => {
  it.each([
    [FAL, "result", { images: [{ url: OTHER }, { url: URL }], seed: 7 }],
    [FAL, "result", { output: { images: [URL] }, image: { url: OTHER } }],
  ])("is no result of fal, %#", async (form, part, said) => {
    const { accepted, state } = await serviceWorld(form, { [part]: json(said) });
    expect(await state(await accepted({ references: [{ url: OTHER }] }))).toMatchObject({ urls: [URL] });
  });

  it("is no result of a later process either, which has the request from the ledger", async () => {
    const said = { status: "succeeded", output: OTHER };
    const { provider } = await serviceWorld(REPLICATE, { poll: json(said) });
    const how = await polling({ job: await jobFor({ references: [{ url: OTHER }] }) });
    expect(await provider.poll?.("pred-1", how)).toMatchObject({ task: { status: "completed", urls: [] } });
  });

  it("is no result of a job that only its id is known of, where the reply repeats the request", async () => {
    const said = { status: "succeeded", output: OTHER, input: { image: OTHER } };
    const { state } = await serviceWorld(REPLICATE, { poll: json(said) });
    expect(await state("pred-1")).toMatchObject({ status: "completed", urls: [] });
  });

  it("is no result of a server that answers at once", async () => {
    const file = path.join(await temporaryFolder(), "reference.png");
    await writeFile(file, PICTURE);
    const job = await jobFor({ references: [{ file, mediaType: "image/png" }, { url: URL }] });
    const mine = png(5);
    const said = { images: [URL, OTHER, BASE64, mine.toString("base64")] };
    expect(findOtherImages(said, job)).toEqual([{ url: OTHER }, { bytes: mine }]);
  });
});

it("a finished job's reference image is none of its results, in whatever form the service repeats it", async () => {
  const { provider } = await serviceWorld(REPLICATE);
  const file = path.join(await temporaryFolder(), "reference.png");
  await writeFile(file, PICTURE);
  const job = await jobFor({ references: [{ file, mediaType: "image/png" }, { url: URL }] });
  const mine = png(5);
  const output = [
    URL,
    `data:image/png;base64,${BASE64}`,
    OTHER,
    `data:image/png;base64,${mine.toString("base64")}`,
  ];
  await writeReply(resultFile(job), JSON.stringify({ status: "succeeded", output }));
  expect(await provider.images?.(job)).toEqual([
    { kind: "url", url: OTHER },
    { kind: "bytes", bytes: mine },
  ]);
});

it.each([
  [{ images: [{ url: OTHER }] }, { kind: "url", url: OTHER }],
  [{ output: { images: [BASE64] } }, { kind: "bytes", bytes: PICTURE }],
  [{ data: [{ image: { b64_json: BASE64 } }] }, { kind: "bytes", bytes: PICTURE }],
])("an OpenAI-compatible server's image is found in %j", async (said, image) => {
  const { submit, provider } = await serviceWorld(OPENAI, { submit: json(said) });
  const { job, what } = await submit();
  expect(what).toBe("made");
  expect(await provider.images?.(job)).toEqual([image]);
});

it("an address in a server's error is no image", async () => {
  const said = { data: [], error: { message: "No.", url: URL }, docs_url: URL };
  const { submit } = await serviceWorld(OPENAI, { submit: json(said) });
  expect((await submit()).what).toBe("unknown");
});
