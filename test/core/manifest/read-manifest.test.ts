import { describe, expect, it } from "vitest";
import type { ManifestEntry } from "../../../src/core/manifest/entry.ts";
import { readManifest, readRows } from "../../../src/core/manifest/read-manifest.ts";
import { cpuTimeOf } from "../../support/cpu-time.ts";
import { share } from "../../support/holds.ts";
import { read } from "./entries.ts";

const FOX = '{"prompt":"a fox"}';

describe("a manifest", () => {
  it.each(["txt", "jsonl", "csv", "detect"] as const)("without rows is a problem, as %s", async (format) => {
    for (const text of ["", "\n", "\ufeff", "\r\n\r\n"])
      expect(await read(text, format)).toEqual(["1: the manifest has no rows"]);
  });
});

it("rows without an end are a million, and then a problem", async () => {
  // What is no row is counted too, and costs the least to read.
  function* endless() {
    for (;;) yield null;
  }
  let last: ManifestEntry | undefined;
  for await (const entry of readRows(endless())) last = entry;
  expect(last).toEqual({
    line: 1_000_001,
    message: "more than 1,000,000 rows; split the manifest. Later rows were not checked",
  });
});

describe("a manifest that has no name", () => {
  it("is JSON lines where the first character that is not blank is a brace", async () => {
    expect(await read(`\ufeff\n \t\n  ${FOX}\n${FOX}`, "detect", 1)).toEqual([
      [3, { prompt: "a fox" }],
      [4, { prompt: "a fox" }],
    ]);
    expect(await read(`${FOX}\nan owl`, "detect")).toEqual([
      [1, { prompt: "a fox" }],
      expect.stringMatching(/^2: not JSON/),
    ]);
  });

  it("is plain prompts otherwise", async () => {
    expect(await read(`\n# foxes\na fox\n${FOX}`, "detect", 1)).toEqual([
      [3, { prompt: "a fox" }],
      [4, { prompt: FOX }],
    ]);
  });

  it("has its problems told from its first line on", async () => {
    const wide = Buffer.from('\ufeff{"prompt":"a"}\n{"prompt":"b"}\n', "utf16le");
    expect(await read(wide, "detect")).toEqual([expect.stringMatching(/^1: UTF-16 text/)]);
    expect(await read("a\0\nb", "detect")).toEqual(["1: a NUL character (at byte 1)", [2, { prompt: "b" }]]);
  });
});

describe("a large manifest", () => {
  const ROWS = share(100_000);
  const LINES = {
    txt: "a fox in the snow at dawn\n",
    jsonl: '{"prompt":"a fox in the snow","model":"z-image","output":"fox"}\n',
    csv: '"a fox, in the snow",z-image,fox\n',
  };

  it.each(["txt", "jsonl", "csv"] as const)("is read at once, as %s", async (format) => {
    async function* source() {
      if (format === "csv") yield Buffer.from("prompt,model,output\n");
      for (let sent = 0; sent < ROWS; sent += 1000) yield Buffer.from(LINES[format].repeat(1000));
    }
    let rows = 0;
    const cost = await cpuTimeOf(async () => {
      for await (const entry of readManifest(source(), format)) if (!("message" in entry)) rows += 1;
    });
    expect(rows).toBe(ROWS);
    expect(cost).toBeLessThan(40_000);
  });
});

describe("a manifest of plain prompts", () => {
  it("has a prompt a line, without blank lines and comments", async () => {
    expect(await read("a fox\n\n# birds\n  # more\n   \nan owl, at night\r\n", "txt")).toEqual([
      [1, { prompt: "a fox" }],
      [6, { prompt: "an owl, at night" }],
    ]);
  });

  it("has prompts as they stand, with quotes and braces, but for the blanks around them", async () => {
    expect(await read('  "a" fox \n{"prompt":1}\nfox # 2', "txt")).toEqual([
      [1, { prompt: '"a" fox' }],
      [2, { prompt: '{"prompt":1}' }],
      [3, { prompt: "fox # 2" }],
    ]);
  });

  it("leaves out the lines that are no text, and says so", async () => {
    expect(await read(Buffer.from("a fox\nb\u0000x\nan owl\n\xff", "latin1"), "txt")).toEqual([
      [1, { prompt: "a fox" }],
      "2: a NUL character (at byte 7)",
      [3, { prompt: "an owl" }],
      "4: not valid UTF-8 (at byte 17); save it as UTF-8",
    ]);
  });
});
