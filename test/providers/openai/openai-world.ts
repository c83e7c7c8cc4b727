import { readFile } from "node:fs/promises";
import { expect, onTestFinished } from "vitest";
import {
  type Generator,
  GeneratorError,
  type GeneratorFailure,
  type GeneratorJob,
} from "../../../src/providers/generator.ts";
import { OpenAiGenerator } from "../../../src/providers/openai/openai-generator.ts";
import { serverFormOf } from "../../../src/providers/openai/servers.ts";
import type { GeneratorOptions } from "../../../src/providers/spec.ts";
import { PICTURE } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { quickClock } from "../../support/quick-clock.ts";
import { type Behaviour, json, type ScriptedServer } from "../../support/scripted-server.ts";
import { ALONE, jobFor, OPTIONS } from "../job.ts";

export const BASE64 = PICTURE.toString("base64");

/** OpenAI's own form of answer. */
export const ONE_IMAGE = {
  created: 1_790_000_000,
  data: [{ b64_json: BASE64 }],
  usage: { total_tokens: 1100, input_tokens: 10, output_tokens: 1090 },
};

export interface OpenAiOptions extends Partial<GeneratorOptions> {
  /** The server whose form is used, as if the generator were at its address. Default: one that nobody knows. */
  as?: string;
}

/** An OpenAI-compatible generator at this base, closed after the test. */
export function openAiAt(base: string, { as = base, ...options }: OpenAiOptions = {}): Generator {
  const deps = { env: {}, proxies: undefined, clock: quickClock };
  const generator = new OpenAiGenerator(base, { ...OPTIONS, ...options }, deps, serverFormOf(as));
  onTestFinished(() => generator.close());
  return generator;
}

/** A scripted server, and a generator that uses it. */
export async function scriptedOpenAi(behave: Behaviour, options: OpenAiOptions = {}) {
  const server = await liveServer(behave);
  return { server, generator: openAiAt(`${server.origin}/v1`, options) };
}

/** Every request is answered with this, as JSON. */
export const answering =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Behaviour =>
  (_request, socket) =>
    void socket.write(json(value, status, headers));

/** Generates one image, which must be the picture of tests. @returns what the generator said of it */
export async function expectPicture(generator: Generator, given: Partial<GeneratorJob> = {}) {
  const image = await generator.generate(await jobFor(given), ALONE);
  expect(await readFile(image.file)).toEqual(PICTURE);
  return image;
}

/** Generates, which must fail. */
export async function failing(
  generator: Generator,
  given: Partial<GeneratorJob> = {},
): Promise<{ message: string; failure: GeneratorFailure }> {
  const error = await generator.generate(await jobFor(given), ALONE).then(
    () => new Error("it made an image"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GeneratorError)) throw error;
  return error;
}

/** The JSON bodies of all POSTs, in order. */
export function bodies(server: ScriptedServer): Record<string, unknown>[] {
  return server.submits().map(({ body }) => JSON.parse(body));
}
