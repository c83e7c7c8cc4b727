import { describe, expect, it } from "vitest";
import { MAX_LINE_BYTES, readLines } from "../../../src/core/manifest/lines.ts";

function linesOf(content: string | Buffer) {
  return [...readLines(Buffer.from(content))];
}

const hex = (digits: string) => Buffer.from(digits.replaceAll(" ", ""), "hex");

describe("a manifest's lines", () => {
  it.each(["a\nb\n", "a\nb", "a\r\nb\r\n", "a\r\nb", "\ufeffa\nb\n", "\ufeffa\r\nb"])(
    "are the same however they end: %j",
    (text) => {
      expect(linesOf(text)).toEqual([
        { number: 1, text: "a", problem: null },
        { number: 2, text: "b", problem: null },
      ]);
    },
  );

  it("are numbered with the blank ones among them, and end with the text", () => {
    const lines = linesOf("\n\na\n\n");
    expect(lines.map(({ number, text }) => [number, text])).toEqual([
      [1, ""],
      [2, ""],
      [3, "a"],
      [4, ""],
    ]);
    expect(linesOf("")).toEqual([]);
  });

  it("keep a byte-order mark that does not stand first", () => {
    expect(linesOf("a\n\ufeffb")[1]?.text).toBe("\ufeffb");
  });

  it.each([
    ["61 0a 62 ff 63", 2, /^not valid UTF-8 \(at byte 3\)/],
    ["ef bb bf ff", 1, /^not valid UTF-8 \(at byte 3\)/],
    ["61 0d 0a e2 82", 2, /^not valid UTF-8 \(at byte 3\)/],
    ["61 00 62", 1, /^a NUL character \(at byte 1\)/],
    ["61 0d 62 0a", 1, /^a carriage return without a line feed \(at byte 1\)/],
    ["61 0d 0d 0a", 1, /^a carriage return without a line feed \(at byte 1\)/],
  ])("of the bytes %s have a problem, with its place", (bytes, number, problem) => {
    const broken = linesOf(hex(bytes)).filter((line) => line.problem !== null);
    expect(broken).toEqual([expect.objectContaining({ number, problem: expect.stringMatching(problem) })]);
  });

  it.each(["utf16le", "utf-16be"])("of a file in %s are one problem, not thousands", (encoding) => {
    const little = Buffer.from("\ufeffa fox\nan owl\n", "utf16le");
    const lines = linesOf(encoding === "utf16le" ? little : Buffer.from(little).swap16());
    expect(lines).toEqual([
      expect.objectContaining({ number: 1, problem: expect.stringContaining("UTF-16") }),
    ]);
  });

  it("may have 1 MiB each, and are refused beyond that", () => {
    const longest = "x".repeat(MAX_LINE_BYTES);
    for (const end of ["", "\n", "\r\n"])
      expect(linesOf(`${longest}${end}`)).toEqual([{ number: 1, text: longest, problem: null }]);
    expect(linesOf(`a\n${longest}x\nb`).map(({ number, problem }) => [number, problem])).toEqual([
      [1, null],
      [2, "longer than 1 MiB"],
      [3, null],
    ]);
  });
});
