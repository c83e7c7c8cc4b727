import { randomBytes } from "node:crypto";
import path from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { PendingError } from "../../src/core/errors.ts";
import { InterruptedError } from "../../src/lib/interrupted.ts";
import { failureAnswer, withPreviews } from "../../src/mcp/tool-answer.ts";
import { inspect } from "../lib/image/builders.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { FOX, sandboxAgent } from "./mcp-world.ts";
import { failed } from "./task-ends.ts";

describe("an answer", () => {
  it("says of what was thrown outside any task that it failed, with nothing to call next", () => {
    expect(failureAnswer(new InterruptedError(null, { charged: "no" }))).toMatchObject({
      isError: true,
      result: { ok: false, charged: "no", error: { type: "interrupted" } },
    });
    expect(failureAnswer(new Error("odd")).result).not.toHaveProperty("next");
  });

  it("of a task that is still running, and has no id to name, is no error", () => {
    const { result, isError } = failureAnswer(new PendingError("It is still running.", { charged: "yes" }));
    expect({ result, isError }).toEqual({
      isError: undefined,
      result: {
        ok: true,
        status: "running",
        taskId: null,
        charged: "yes",
        files: [],
        message: "It is still running.",
      },
    });
  });

  it("of a failed task says how to take it further, where that is possible", () => {
    const next = expect.stringContaining('get_task with taskId "task-1"');
    expect(failureAnswer(failed({ resume: "imggen resume task-1" })).result).toMatchObject({ next });
    expect(failureAnswer(failed()).result).not.toHaveProperty("next");
  });

  it("includes the image, no larger than 512 pixels and 256 KiB, unless the call declines it", async () => {
    const { call } = await sandboxAgent();
    expect((await call("generate_image", { ...FOX, preview: false })).more).toEqual([]);
    const { more, document } = await call("generate_image", FOX);
    const [image] = more;
    if (image?.type !== "image") throw new Error("no image");
    expect(image.mimeType).toBe("image/webp");
    const bytes = Buffer.from(image.data, "base64");
    expect(bytes.length).toBeLessThanOrEqual(256 * 1024);
    expect(document).toMatchObject({ reused: true, next: expect.stringContaining("reuse: false") });
    expect(await inspect(bytes)).toMatchObject({ ok: true, image: { width: 512, height: 512 } });
    expect(JSON.stringify(document)).not.toContain("no preview");
  });

  it("includes a smaller image where one of 512 pixels has more than 256 KiB", async () => {
    const edge = 512;
    const noise = sharp(randomBytes(edge * edge * 4), { raw: { width: edge, height: edge, channels: 4 } });
    const file = path.join(await temporaryFolder(), "noise.png");
    await noise.png().toFile(file);
    const { images = [] } = await withPreviews({ result: { ok: true }, paths: [file] }, true);
    const bytes = Buffer.from(images[0]?.data ?? "", "base64");
    expect(bytes.length).toBeLessThanOrEqual(256 * 1024);
    expect(await inspect(bytes)).toMatchObject({ ok: true, image: { width: 256, height: 256 } });
  });

  it("leaves the image out where the user has set that, unless the call asks for it", async () => {
    const { call } = await sandboxAgent(["--no-preview"]);
    expect((await call("generate_image", FOX)).more).toEqual([]);
    expect((await call("generate_image", { ...FOX, preview: true })).more).toHaveLength(1);
  });

  it("says so in a line where there is no preview", async () => {
    const answer = { result: { ok: true }, paths: [path.join(await temporaryFolder(), "gone.png")] };
    const { result, images } = await withPreviews(answer, true);
    expect(images).toBeUndefined();
    expect(result).toMatchObject({ ok: true, preview: expect.stringMatching(/^There is no preview: .*\.$/) });
  });
});
