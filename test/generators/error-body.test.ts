import { expect, it } from "vitest";
import { readErrorBody } from "../../src/generators/error-body.ts";

it.each<[string, unknown, string | null]>([
  [
    "OpenAI's object",
    { error: { message: "Bad size.", type: "invalid_request_error", param: null } },
    "Bad size",
  ],
  ["a text", { error: "prompt required" }, "prompt required"],
  ["a code beside a message", { error: "server_error", message: "out of memory" }, "out of memory"],
  ["a detail", { detail: "Not Found" }, "Not Found"],
  [
    "a list of details",
    {
      detail: [
        { loc: ["body", "size"], msg: "Field required" },
        { loc: ["body", "n"], msg: "Too many" },
      ],
    },
    "body.size: Field required; body.n: Too many",
  ],
  [
    "an object of AUTOMATIC1111",
    { error: "HTTPException", detail: "", body: "", errors: "Sampler not found" },
    "Sampler not found",
  ],
  ["a list", [{ error: { code: 400, message: "Invalid." } }], "Invalid"],
  ["a text alone", "overloaded", "overloaded"],
  ["nothing to read", { error: null }, null],
  ["a message that is empty", { error: { message: "", type: "server_error" } }, null],
])("the words of a refusal are read from %s", (_form, body, words) => {
  expect(readErrorBody(JSON.stringify(body)).words).toBe(words);
});

it.each([
  ["", null],
  ["  \n", null],
  ["upstream timed out", "upstream timed out"],
  ["<html><head><title>502 Bad\nGateway</title></head></html>", "a page with the title “502 Bad Gateway”"],
  ["<html></html>", "a page without a title"],
  ['{"error":{"message":"cut sho', '{"error":{"message":"cut sho'],
])("a body that is no JSON has words too: %j", (body, words) => {
  expect(readErrorBody(body)).toEqual({ isJson: false, words, codes: [], field: null });
});

it("words are one line, and not longer than a few", () => {
  const { words } = readErrorBody(JSON.stringify({ error: { message: `No.\n\n${"ha ".repeat(1000)}` } }));
  expect(words).toMatch(/^No\. ha ha .*…$/);
  expect(words?.length).toBeLessThanOrEqual(501);
});

it("codes, types and the field at fault are found wherever they are", () => {
  const error = { code: 400, type: "image_generation_user_error", status: "INVALID", param: "size" };
  expect(readErrorBody(JSON.stringify({ error }))).toMatchObject({
    codes: ["400", "image_generation_user_error", "INVALID"],
    field: "size",
  });
});
