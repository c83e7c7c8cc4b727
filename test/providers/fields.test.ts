import { expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { KINDS, type ServerKindName } from "../../src/providers/kinds.ts";
import { imageRequest } from "../../src/providers/openai/openai-request.ts";
import { findServerForm } from "../../src/providers/openai/server-forms.ts";
import { parseGeneratorSpec } from "../../src/providers/spec.ts";
import { BFL } from "../support/doubles/bfl.ts";
import { GEMINI } from "../support/doubles/gemini.ts";
import { ALONE, jobFor, opened } from "./job.ts";
import { serviceWorld } from "./service-world.ts";

it.each(Object.keys(KINDS) as ServerKindName[])(
  "%s declares the fields that it has names for, and the usual ones",
  async (kind) => {
    const spec = parseGeneratorSpec(`${kind}:https://server.example/v1`, "--generator");
    const { supports, close } = await opened(spec, {});
    const names = Object.keys(KINDS[kind].fieldNamesAt({ url: "https://server.example/v1" }));
    expect(supports).toEqual(expect.arrayContaining(["prompt", "ratio", "image", "maxImages", ...names]));
    await close();
  },
);

it.each([
  [BFL, "flux-kontext-pro"],
  [GEMINI, "gemini-2.5-flash-image"],
])("a quality that the model does not support is said not to be sent", async (form, model) => {
  const { submit } = await serviceWorld(form);
  const { warnings } = await submit({ model, quality: "2K" });
  expect(warnings).toEqual([`${model} does not support the quality 2K, so the quality was not sent.`]);
  expect((await submit({ model })).warnings).toEqual([]);
});

it.each([
  ["https://api.x.ai/v1", "2K", []],
  ["https://api.x.ai/v1", "4K", ["The server supports at most 2K: 2K was requested instead of 4K."]],
  ["https://images.example/v1", "4K", []],
])("%s is asked for %s, and what it is not asked for is said", async (url, quality, said) => {
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message);
  const job = await jobFor({ quality, model: "fox-1" });
  const { signal } = ALONE;
  await imageRequest(job, {
    proxies: undefined,
    clock: systemClock,
    generatorUrl: new URL(url),
    signal,
    onWarning,
    form: findServerForm(url),
  });
  expect(warnings).toEqual(said);
});
