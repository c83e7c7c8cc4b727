import { expect, it } from "vitest";
import { parseGeneratorSpec } from "../../src/providers/spec.ts";
import type { JobParts } from "./job.ts";
import { jobFor, opened } from "./job.ts";

const FOX = { file: "/home/ada/fox.png", mediaType: "image/png" };

/** What a generator would be sent for a job with a file that is not there: nothing is read. */
async function described(spec: string, parts: JobParts = {}) {
  const provider = await opened(parseGeneratorSpec(spec, "--generator"), { key: "secret-key-1" });
  const job = await jobFor({ references: [FOX], ...parts });
  return provider.describe?.({ ...job, folder: "" });
}

it.each<[string, JobParts, unknown]>([
  [
    "replicate",
    { model: "ada/fox", ratio: "16:9" },
    {
      method: "POST",
      url: "https://api.replicate.com/v1/models/ada/fox/predictions",
      body: { input: { prompt: "a red fox", aspect_ratio: "16:9", image: "<file fox.png>" } },
    },
  ],
  [
    "fal",
    { model: "fal-ai/flux/dev" },
    {
      method: "POST",
      url: "https://queue.fal.run/fal-ai/flux/dev",
      body: { prompt: "a red fox", image_url: "<file fox.png>" },
    },
  ],
  [
    "bfl",
    { model: "flux-kontext-pro", references: [{ url: "data:image/png;base64,aGk=" }] },
    {
      method: "POST",
      url: "https://api.bfl.ai/v1/flux-kontext-pro",
      body: { prompt: "a red fox", input_image: "<a data: URL>" },
    },
  ],
  [
    "gemini",
    { model: "gemini-3-pro-image" },
    {
      method: "POST",
      url: "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-image:generateContent",
      body: {
        contents: [
          {
            role: "user",
            parts: [{ text: "a red fox" }, { inlineData: { mimeType: "image/png", data: "<file fox.png>" } }],
          },
        ],
        generationConfig: { responseModalities: ["IMAGE"] },
      },
    },
  ],
  [
    "https://gpubox.example/v1?team=7",
    { model: "flux" },
    {
      method: "POST",
      url: "https://gpubox.example/v1/images/edits?…",
      body: { model: "flux", prompt: "a red fox", response_format: "b64_json", image: "<file fox.png>" },
    },
  ],
  [
    "openai",
    {},
    {
      method: "POST",
      url: "https://api.openai.com/v1/images/edits",
      body: expect.objectContaining({ images: [{ image_url: "<file fox.png>" }] }),
    },
  ],
  [
    "sdapi:http://localhost:7860",
    {},
    {
      method: "POST",
      url: "http://localhost:7860/sdapi/v1/img2img",
      body: { prompt: "a red fox", init_images: ["<file fox.png>"] },
    },
  ],
  [
    "command:/bin/paint {promptFile} {width} {seed} {image} {output}",
    {},
    {
      command: [
        "/bin/paint",
        "<file with the prompt>",
        "<width>",
        "<seed>",
        "<file fox.png>",
        "<file for the image>",
      ],
    },
  ],
])(
  "%s says what it would be sent, without the size of an image that cannot be read, and asks nothing",
  async (spec, parts, expected) => {
    expect(await described(spec, parts)).toEqual(expected);
  },
);
