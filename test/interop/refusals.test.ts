import { expect, it } from "vitest";
import { scriptedOpenAi } from "../providers/openai/openai-world.ts";
import { scriptedProvider } from "../serve/provider-script.ts";
import { json } from "../support/scripted-server.ts";
import { inTurn } from "../support/scripts.ts";
import { failure, withOpenAi } from "./openai-client.ts";

const WORDS = "Invalid value for it";
const INVALID = { message: WORDS, type: "invalid_request_error" };

it.each([
  ["a field", 400, { ...INVALID, param: "style", code: "invalid_value" }, 422, "invalid_value", "style"],
  ["a field alone", 400, { ...INVALID, param: "style", code: null }, 422, "invalid_request", "style"],
  ["nothing", 422, { ...INVALID, param: null, code: null }, 422, "invalid_request", null],
  ["a number", 400, { ...INVALID, code: 30001 }, 422, "30001", null],
  ["a prompt", 400, { ...INVALID, code: "content_policy_violation" }, 400, "content_policy_violation", null],
  ["a prompt in words", 400, { message: "The safety system said no" }, 400, "moderation_blocked", null],
  ["a status of its own", 418, { ...INVALID, code: "teapot" }, 422, "teapot", null],
] as const)(
  "a generator's refusal of %s keeps its code and param, after a restart of the server too",
  async (_what, theirs, error, status, code, param) => {
    const { server, generator } = await scriptedOpenAi(json({ error }, theirs));
    const first = await withOpenAi({ provider: generator.provider });
    const ask = ({ openai }: typeof first) =>
      failure(openai.images.generate({ prompt: "a fox" }, { headers: { "Idempotency-Key": "k" } }));
    const told = await ask(first);
    expect(told).toMatchObject({ status, code, param, message: expect.stringContaining(error.message) });
    await first.close();
    const next = await withOpenAi({ folder: first.folder, provider: scriptedProvider() });
    expect(await ask(next)).toEqual(told);
    expect(server.submits()).toHaveLength(1);
  },
);

it("hostile codes and fields are cut and in one line, or count as none", async () => {
  const bodies = [
    { ...INVALID, code: "x\n".repeat(1_000), param: `p${"q".repeat(1_000)}` },
    { ...INVALID, code: { a: 1 }, param: ["b"] },
    { ...INVALID, code: " ", param: "" },
  ];
  const replies = bodies.map((error) => json({ error }, 400));
  const { generator } = await scriptedOpenAi(inTurn(...replies));
  const { openai } = await withOpenAi({ provider: generator.provider });
  const ask = () => failure(openai.images.generate({ prompt: "a fox" }));
  const long = await ask();
  expect(long.code).toBe(`${"x ".repeat(50)}…`);
  expect(long.param).toBe(`p${"q".repeat(99)}…`);
  for (const _each of [1, 2]) expect(await ask()).toMatchObject({ code: "invalid_request", param: null });
});
