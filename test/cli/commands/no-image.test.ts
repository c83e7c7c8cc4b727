import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BFL } from "../../support/doubles/bfl.ts";
import { answers, fileAt, type Part, type ServiceForm } from "../../support/doubles/double.ts";
import { FAL } from "../../support/doubles/fal.ts";
import { GEMINI } from "../../support/doubles/gemini.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { OPENAI, SDAPI } from "../../support/doubles/synchronous.ts";
import { PICTURE, sha256 } from "../../support/images.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";
import { json as jsonReply } from "../../support/scripted-server.ts";

const WORDS = "Come back on Tuesday";
const NONE: [string, ServiceForm, Part, object][] = [
  ["replicate", REPLICATE, "poll", { status: "succeeded", output: WORDS }],
  ["fal", FAL, "result", { images: [], message: WORDS }],
  ["bfl", BFL, "poll", { status: "Ready", result: { sample: null }, detail: WORDS }],
  ["openai", OPENAI, "submit", { data: [], message: WORDS }],
  ["gemini", GEMINI, "submit", { candidates: [{ finishReason: "OTHER", finishMessage: WORDS }] }],
  ["sdapi", SDAPI, "submit", { images: [], detail: WORDS }],
];

describe.each(NONE)("a success of %s without an image", (_kind, form, part, said) => {
  const script = { [part]: answers(() => jsonReply(said)) };

  it("may have been paid for: its words are shown, and where it is kept, until it is dismissed", async () => {
    const { json, generate, double, home } = await paidService(form, script);
    const { code, document } = await json(generate);
    expect(code).toBe(9);
    expect(document).toMatchObject({ error: { type: "outcome_unknown" }, charged: "unknown" });
    const { message } = document.error ?? {};
    expect(message).toContain(WORDS);
    const [, kept = ""] = /kept in (\S+?)\.?$/m.exec(String(message)) ?? [];
    const file = path.basename(kept) === "reply" ? kept : path.join(kept, "result");
    expect(await readFile(file, "utf8")).toContain(WORDS);
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", "--generator-paid"])).toMatchObject({ code: 9 });
    expect(await json(["resume", id, "--dismiss", "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(double.submits()).toHaveLength(1);
  });

  it("has failed where it is free", async () => {
    const { json, generate } = await paidService(form, script);
    const free = generate.map((word) => word.replace("-paid", "-free"));
    const { code, document } = await json(free);
    expect(code).toBe(5);
    expect(document).toMatchObject({ error: { type: "generation_failed" }, charged: "no" });
  });
});

const DATA = `data:image/png;base64,${PICTURE.toString("base64")}`;

it("a data: URL beside another is saved in its place", async () => {
  const result = answers((origin) => jsonReply({ images: [{ url: DATA }, { url: fileAt(origin, 1) }] }));
  const { json, generate, home } = await paidService(FAL, { result });
  const { document } = await json(generate);
  expect(document).toMatchObject({
    charged: "yes",
    files: [{ sha256: sha256(PICTURE), url: null }, { url: expect.stringContaining("/files/") }],
  });
  expect(await openTasks(home)).toEqual([]);
});

it("a data: URL that is no image is kept", async () => {
  const said = { status: "succeeded", output: "data:text/html,<p>no" };
  const { json, generate } = await paidService(REPLICATE, { poll: answers(() => jsonReply(said)) });
  expect(await json(generate)).toMatchObject({ code: 9 });
});
