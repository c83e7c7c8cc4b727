import { expect, onTestFinished } from "vitest";
import type { GeneratorOptions } from "../../../src/providers/kind.ts";
import { bearerHeaders } from "../../../src/providers/kind.ts";
import { openAiProvider } from "../../../src/providers/openai/openai-provider.ts";
import { findServerForm } from "../../../src/providers/openai/server-forms.ts";
import type { MadeImage, Provider, SubmitReply } from "../../../src/providers/provider.ts";
import { PICTURE } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { quickClock } from "../../support/quick-clock.ts";
import { type Answer, json, type ScriptedServer } from "../../support/scripted-server.ts";
import { ALONE, type JobParts, jobFor, OPTIONS, told } from "../job.ts";

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

/** A provider, and what its jobs have where a test says nothing. */
export interface OpenAi {
  provider: Provider;
  parts: JobParts;
}

function keyHeaders({ key }: Partial<GeneratorOptions>) {
  return key ? bearerHeaders(key) : {};
}

/** An OpenAI-compatible provider at this base, closed after the test. */
export function openAiAt(base: string, { as = base, ...options }: OpenAiOptions = {}): OpenAi {
  const deps = { env: {}, proxies: undefined, clock: quickClock };
  const setup = { url: base, keyHeaders: keyHeaders(options), options: { ...OPTIONS, ...options } };
  const provider = openAiProvider(setup, deps, findServerForm(as));
  onTestFinished(() => provider.close());
  const { isPaid = false, sizeForm = null } = options;
  return { provider, parts: { isPaid, sizeForm } };
}

/** A server that answers so, where it is an object by its JSON, and a provider that uses it. */
export async function scriptedOpenAi(answer: Answer | object, options: OpenAiOptions = {}) {
  const isAnswer = typeof answer !== "object" || Buffer.isBuffer(answer);
  const server = await liveServer(isAnswer ? answer : json(answer));
  return { server, generator: openAiAt(`${server.origin}/v1`, options) };
}

/** Submits a job, which must be made. @returns what was said of it, and its images */
export async function made({ provider, parts }: OpenAi, overrides: JobParts = {}) {
  const job = await jobFor({ ...parts, ...overrides });
  const reply = await provider.submit(job, ALONE);
  expect(told(reply)).toEqual({ what: "made", message: "", hint: null });
  const images: MadeImage[] = (await provider.images?.(job)) ?? [];
  return { ...(reply as Extract<SubmitReply, { outcome: "made" }>), images, job };
}

/** Submits a job, whose image must be the picture of tests. @returns what was said of it */
export async function expectPicture(generator: OpenAi, overrides: JobParts = {}) {
  const reply = await made(generator, overrides);
  expect(reply.images).toEqual([{ kind: "bytes", bytes: PICTURE }]);
  return reply;
}

/** Submits a job, which must not be made. */
export async function failing({ provider, parts }: OpenAi, overrides: JobParts = {}) {
  const job = await jobFor({ ...parts, ...overrides });
  const reply = await provider.submit(job, ALONE);
  expect(reply.outcome).not.toBe("made");
  return { ...told(reply), reply, job };
}

/** The JSON bodies of all POSTs, in order. */
export function bodies(server: ScriptedServer): Record<string, unknown>[] {
  return server.submits().map(({ body }) => JSON.parse(body));
}
