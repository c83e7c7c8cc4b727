import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { answers, fileAt, type Part, type ServiceForm } from "../../support/doubles/double.ts";
import { FAL } from "../../support/doubles/fal.ts";
import { GEMINI, geminiAnswer } from "../../support/doubles/gemini.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { OPENAI, SDAPI } from "../../support/doubles/synchronous.ts";
import { generatorWorld } from "../../support/generator-world.ts";
import { png, sha256 } from "../../support/images.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";
import { type Behaviour, json as jsonReply, response } from "../../support/scripted-server.ts";

const IMAGES = [png(1), png(2), png(3)];
const BASE64 = IMAGES.map((image) => image.toString("base64"));

const files: Behaviour = ({ target }, socket) => {
  const number = Number(/-(\d)\.png/.exec(target)?.[1]);
  socket.write(response(200, IMAGES[number - 1] ?? ""));
};
const urlsAt = (origin: string) => [1, 2, 3].map((number) => fileAt(origin, number));
const parts = BASE64.map((data) => ({ inlineData: { mimeType: "image/png", data } }));

const SEVERAL: [string, ServiceForm, Partial<Record<Part, Behaviour>>][] = [
  [
    "openai",
    OPENAI,
    { submit: answers(() => jsonReply({ data: BASE64.map((b64_json) => ({ b64_json })) })) },
  ],
  ["gemini", GEMINI, { submit: answers(() => geminiAnswer({ candidates: [{ content: { parts } }] })) }],
  ["sdapi", SDAPI, { submit: answers(() => jsonReply({ images: BASE64 })) }],
  [
    "replicate",
    REPLICATE,
    {
      poll: answers((origin) => jsonReply({ id: "pred-1", status: "succeeded", output: urlsAt(origin) })),
      file: files,
    },
  ],
  [
    "fal",
    FAL,
    {
      result: answers((origin) => jsonReply({ images: urlsAt(origin).map((url) => ({ url })) })),
      file: files,
    },
  ],
];

describe.each(SEVERAL)("several images for one paid request to %s", (_kind, form, script) => {
  it("are all saved, and that more came than were asked for is said", async () => {
    const { json, generate, double, home, cwd } = await paidService(form, script);
    const { code, document } = await json([...generate, "-o", "fox.png"]);
    expect(code).toBe(0);
    expect(document).toMatchObject({
      charged: "yes",
      files: [
        { path: path.join(cwd, "fox.png"), sha256: sha256(png(1)) },
        { path: path.join(cwd, "fox-2.png"), sha256: sha256(png(2)) },
        { path: path.join(cwd, "fox-3.png"), sha256: sha256(png(3)) },
      ],
      warnings: ["Requested 1 image, received 3."],
    });
    expect(double.submits()).toHaveLength(1);
    expect(await openTasks(home)).toEqual([]);
    const history = await json(["history"]);
    expect(history.document).toMatchObject([{ files: [{}, {}, {}] }]);
  });
});

const [, openai, script] = SEVERAL[0] ?? ["", OPENAI, {}];

it("the first goes to standard output, and the others beside, which is said", async () => {
  const { run, generate, cwd } = await paidService(openai, script);
  const { code, stderr, stdout } = await run([...generate, "-o", "-"]);
  expect([code, stdout.length > 0]).toEqual([0, true]);
  expect(stderr).toContain("Requested 1 image, received 3.");
  const [second = "", third = ""] = [...stderr.matchAll(/\S+-[23]\.png/g)].map(([name]) => name);
  expect(sha256(await readFile(path.resolve(cwd, second)))).toBe(sha256(png(2)));
  expect(sha256(await readFile(path.resolve(cwd, third)))).toBe(sha256(png(3)));
});

it("any of them is known by its bytes, and can be made again", async () => {
  const { json, generate, double } = await paidService(openai, script);
  const { document } = await json(generate);
  const again = await json(["rerun", String(document.files?.[2]?.path), "--generator-paid"]);
  expect(again).toMatchObject({ code: 0, document: { files: [{}, {}, {}] } });
  expect(double.submits()).toHaveLength(2);
});

it("one in the reply that is none stays where it is kept, and is said", async () => {
  const data = [BASE64[0], "bm90IGFuIGltYWdl", BASE64[1]].map((b64_json) => ({ b64_json }));
  const { json, generate, home } = await paidService(OPENAI, { submit: answers(() => jsonReply({ data })) });
  const { code, document } = await json(generate);
  expect([code, document.files?.length]).toEqual([0, 2]);
  const [, kept = ""] = /kept in (\S+) until you remove /.exec(String(document.warnings?.[0])) ?? [];
  expect(await readFile(path.join(kept, "reply"), "utf8")).toContain("bm90IGFuIGltYWdl");
  expect(await openTasks(home)).toEqual([]);
});

it("of one that is free are all saved as well", async () => {
  const { json } = await generatorWorld(SEVERAL[0]?.[2].submit);
  const { document } = await json(["generate", "a fox"]);
  expect(document).toMatchObject({
    files: [1, 2, 3].map((number) => ({ sha256: sha256(png(number)) })),
    warnings: ["Requested 1 image, received 3."],
  });
});
