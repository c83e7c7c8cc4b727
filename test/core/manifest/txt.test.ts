import { describe, expect, it } from "vitest";
import { read } from "./entries.ts";

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
