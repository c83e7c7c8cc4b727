import fc from "fast-check";
import { expect, it } from "vitest";
import { failedReply } from "../../src/providers/failed-reply.ts";
import { readReply } from "../../src/providers/openai/openai-provider.ts";
import { jobFor } from "../providers/job.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds, holdsInTime } from "../support/holds.ts";

// What an OpenAI-compatible server may send: anything at all.

const text = fc.string({ unit: anyCharacter, maxLength: 40 });
const nested = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1, 1e308, "", "data:image/png;base64,AAAA", "/1.png"),
    text,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        "data",
        "b64_json",
        "url",
        "error",
        "message",
        "detail",
        "code",
        "usage",
        "loc",
        "__proto__",
      ),
      tie("value"),
      { maxKeys: 4 },
    ),
  ),
})).value;
const body = fc.oneof(
  nested.map((value) => JSON.stringify(value)),
  nested.map((value) => `data: ${JSON.stringify(value)}\n\n`),
  nested.map((value) => JSON.stringify(value).slice(0, -1)),
  text,
);
const type = fc.constantFrom(
  undefined,
  "application/json",
  "image/png",
  "text/event-stream",
  "text/html",
  "",
);
const cut = fc.constantFrom(null, "the connection was cut");

it("any success is an image, its address, a reply that was cut, or none", async () => {
  const job = await jobFor();
  await holdsInTime(
    fc.asyncProperty(body, type, cut, async (sent, contentType, reason) => {
      const reply = {
        status: 200,
        headers: { "content-type": contentType },
        body: Buffer.from(sent),
        cut: reason,
      };
      const answer = readReply(reply, job);
      const images = answer !== null && answer !== "unnamed" && "images" in answer ? answer.images : null;
      for (const image of images ?? [])
        expect("url" in image ? image.url.trim() : image.bytes.length).toBeTruthy();
      if (images) expect(images.length).toBeGreaterThan(0);
      else expect(answer === null || Object.hasOwn(Object(answer), "none")).toBe(true);
    }),
  );
});

/** Statuses that prove that nothing was made. */
const DEFINITE = [400, 401, 402, 403, 404, 405, 413, 415, 422, 429];

it("any failure is one of those that a task knows, with a message in one line", () => {
  holds(
    fc.property(fc.integer({ min: 100, max: 599 }), body, fc.boolean(), (status, sent, isPaid) => {
      const asked = {
        host: "gpubox",
        address: "http://gpubox/v1",
        hasKey: true,
        isPaid,
        mask: (words: string) => words,
        nowMs: 0,
      };
      const { message, failure } = failedReply(
        { status, headers: { "retry-after": "1" }, body: sent },
        asked,
      );
      expect(message).not.toMatch(/[\r\n]/);
      // A reply has come, so a request was sent; and an image may have been made by all but a definite no.
      expect(failure.kind).not.toBe("unsent");
      if (isPaid && failure.kind === "lost") expect(DEFINITE).not.toContain(status);
    }),
  );
});
