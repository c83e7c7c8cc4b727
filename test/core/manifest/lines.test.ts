import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { LONGEST_LINE_BYTES, type ManifestLine, readLines } from "../../../src/core/manifest/lines.ts";
import { inChunks } from "./entries.ts";

async function linesOf(content: string | Uint8Array, size?: number) {
  const lines = [];
  for await (const line of readLines(inChunks(content, size))) lines.push(line);
  return lines;
}

const hex = (digits: string) => Buffer.from(digits.replaceAll(" ", ""), "hex");

describe("a manifest's lines", () => {
  it.each(["a\nb\n", "a\nb", "a\r\nb\r\n", "a\r\nb", "\ufeffa\nb\n", "\ufeffa\r\nb"])(
    "are the same however they end, in chunks of any size: %j",
    async (text) => {
      for (const size of [1, 2, 3, undefined]) {
        const lines = await linesOf(text, size);
        expect(lines.map(({ number, text, problem }) => [number, text, problem])).toEqual([
          [1, "a", null],
          [2, "b", null],
        ]);
      }
    },
  );

  it("are numbered with the blank ones among them, and end with the text", async () => {
    const lines = await linesOf("\n\na\n\n");
    expect(lines.map(({ number, text }) => [number, text])).toEqual([
      [1, ""],
      [2, ""],
      [3, "a"],
      [4, ""],
    ]);
    expect(await linesOf("")).toEqual([]);
  });

  it("keep a byte-order mark that does not stand first", async () => {
    expect((await linesOf("a\n\ufeffb"))[1]?.text).toBe("\ufeffb");
  });

  it("hold characters whole, wherever chunks are cut", async () => {
    expect((await linesOf("é🦊\n", 1))[0]).toMatchObject({ text: "é🦊", problem: null });
  });

  it.each([
    ["61 0a 62 ff 63", 2, /^not valid UTF-8 \(at byte 3\)/],
    ["ef bb bf ff", 1, /^not valid UTF-8 \(at byte 3\)/],
    ["61 0d 0a e2 82", 2, /^not valid UTF-8 \(at byte 3\)/],
    ["61 00 62", 1, /^a NUL character \(at byte 1\)/],
    ["61 0d 62 0a", 1, /^a carriage return alone \(at byte 1\)/],
    ["61 0d 0d 0a", 1, /^a carriage return alone \(at byte 1\)/],
  ])("of the bytes %s have a problem, with its place", async (bytes, number, problem) => {
    const broken = (await linesOf(hex(bytes))).filter((line) => line.problem !== null);
    expect(broken).toEqual([
      expect.objectContaining({ number, problem: expect.stringMatching(problem), cut: false }),
    ]);
  });

  it.each(["utf16le", "utf-16be"])("of a file in %s are one problem, not thousands", async (encoding) => {
    const little = Buffer.from("\ufeffa fox\nan owl\n", "utf16le");
    const lines = await linesOf(encoding === "utf16le" ? little : Buffer.from(little).swap16());
    expect(lines).toEqual([
      expect.objectContaining({ number: 1, problem: expect.stringContaining("UTF-16") }),
    ]);
  });

  it("may have 1 MiB each, and are cut beyond that", async () => {
    const longest = "x".repeat(LONGEST_LINE_BYTES);
    for (const end of ["", "\n", "\r\n"]) {
      const [whole] = await linesOf(`${longest}${end}`, 65_536);
      expect(whole).toMatchObject({ problem: null, cut: false });
      expect(whole?.text).toHaveLength(LONGEST_LINE_BYTES);
    }
    const lines = await linesOf(`a\n${longest}xy\nb`, 65_536);
    expect(lines).toEqual([
      { number: 1, text: "a", problem: null, cut: false },
      { number: 2, text: "", problem: "longer than 1 MiB", cut: true },
      { number: 3, text: "b", problem: null, cut: false },
    ]);
  });

  it("are not kept in memory where they are too long", async () => {
    // Else what counts is when the machine had time to collect what nobody keeps.
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    async function* endless() {
      for (let read = 1; ; read++) {
        yield Buffer.alloc(1024 * 1024, "x");
        if (read % 8 > 0) continue;
        collect();
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
    }
    for await (const line of readLines(endless())) expect(line.cut).toBe(true);
    expect(most).toBeLessThan(40 * 1024 * 1024);
  });

  it("end at 64 MiB, at a line that says so", async () => {
    async function* endless() {
      for (;;) yield Buffer.from(`${"x".repeat(1023)}\n`.repeat(1024));
    }
    const lines: ManifestLine[] = [];
    for await (const line of readLines(endless())) lines.push(line);
    const problem = "the manifest is longer than 64 MiB; split it";
    expect(lines.filter((line) => line.problem !== null)).toEqual([lines.at(-1)]);
    expect(lines.at(-1)).toMatchObject({ problem, number: 65 * 1024 + 1 });
  });

  it("close the source when they are not read to the end", async () => {
    let closed = false;
    async function* source() {
      try {
        for (;;) yield Buffer.from("a\n");
      } finally {
        closed = true;
      }
    }
    for await (const line of readLines(source())) if (line.number === 3) break;
    expect(closed).toBe(true);
  });
});
