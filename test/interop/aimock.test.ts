import { writeFile } from "node:fs/promises";
import path from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { expect, it, onTestFinished } from "vitest";
import { ALONE } from "../providers/job.ts";
import { BASE64, expectPicture, failing, openAiAt } from "../providers/openai/openai-world.ts";
import { CANARY } from "../support/canary.ts";
import { png } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

// A mock of OpenAI's API that others keep close to it.

async function openAiMock(): Promise<LLMock> {
  const mock = new LLMock();
  mock.onImage(/fox/, { image: { b64Json: BASE64 } });
  await mock.start();
  onTestFinished(() => mock.stop());
  return mock;
}

const PAID = { key: CANARY, isPaid: true };

it("makes an image, in one request", async () => {
  const mock = await openAiMock();
  await expectPicture(openAiAt(`${mock.url}/v1`, PAID), { model: "gpt-image-2" });
  const requests = mock.getRequests();
  expect(requests).toMatchObject([{ method: "POST", path: "/v1/images/generations" }]);
  const headers = { authorization: "[REDACTED]", "x-client-request-id": "task_1" };
  expect(requests[0]?.headers).toMatchObject(headers);
});

it("makes an image from reference images in files", async () => {
  const mock = await openAiMock();
  const folder = await temporaryFolder();
  const files = ["1.png", "2.png"].map((name) => path.join(folder, name));
  for (const [at, file] of files.entries()) await writeFile(file, png(at));
  const references = files.map((file) => ({ file, mediaType: "image/png" }));
  await expectPicture(openAiAt(`${mock.url}/v1`, PAID), { model: "gpt-image-2", references });
  expect(mock.getRequests()).toMatchObject([{ path: "/v1/images/edits" }]);
});

it("lists the models", async () => {
  const mock = await openAiMock();
  const models = await openAiAt(`${mock.url}/v1`, PAID).provider.models?.(ALONE.signal);
  expect(models?.length).toBeGreaterThan(0);
});

it.each([
  [401, { message: "Incorrect API key provided", code: "invalid_api_key" }, "auth_required"],
  // The mock states a time of seconds, which says more than a code.
  [429, { message: "You exceeded your current quota", code: "insufficient_quota" }, "rate_limited"],
  [429, { message: "Rate limit reached", code: "rate_limit_exceeded" }, "rate_limited"],
  [
    400,
    {
      message: "Rejected by the safety system",
      type: "image_generation_user_error",
      code: "moderation_blocked",
    },
    "generation_failed",
  ],
  [500, { message: "The server had an error", type: "server_error" }, "unknown"],
])("says what a reply with %i means, and asks once", async (status, error, kind) => {
  const mock = await openAiMock();
  mock.prependFixture({ match: { endpoint: "image" }, response: { error, status } });
  const { message, what } = await failing(openAiAt(`${mock.url}/v1`, PAID));
  expect(what).toBe(kind);
  expect(message).toContain(error.message);
  expect(mock.getRequests()).toHaveLength(1);
});
