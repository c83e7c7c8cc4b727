import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shellWord } from "../../src/lib/shell-word.ts";
import { isInert } from "../support/active-characters.ts";
import { anyCharacter } from "../support/any-character.ts";

describe("a word of a command line", () => {
  it.each([
    ["task_3f9c", "task_3f9c"],
    ["a b", "'a b'"],
    ["it's", `'it'\\''s'`],
    ["$(touch x)", "'$(touch x)'"],
    ["a\u202eb", "$'a\\U0000202eb'"],
  ])("%j is written for a POSIX shell as %s", (text, word) => {
    for (const platform of ["linux", "darwin"] as const) expect(shellWord(text, platform)).toBe(word);
  });

  it("is one word to bash, whatever is in it", () => {
    const texts = ["a b", "it's", "$(echo x)", "", '"', "a\\", "*", "größe 🦊", "a\u202eb"];
    const script = `printf '%s\\0' ${texts.map((text) => shellWord(text, "linux")).join(" ")}`;
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    const read = execFileSync("bash", ["-c", script], { env, encoding: "utf8" });
    expect(read.split("\0").slice(0, -1)).toEqual(texts);
  });

  it.each([
    ["task_3f9c", "task_3f9c"],
    ["--retry-failed", "--retry-failed"],
    ["C:\\pictures\\fox.png", "C:\\pictures\\fox.png"],
    ["a b", '"a b"'],
    ["it's", '"it\'s"'],
    ["", '""'],
    ['say "hi"', '"say ""hi"""'],
    ["C:\\my pictures\\", '"C:\\my pictures\\\\"'],
    ["a & b", '"a & b"'],
    ["@splat", '"@splat"'],
    ["1:1,16:9", '"1:1,16:9"'],
    ["--name=a.b", '"--name=a.b"'],
    ["$(calc)", '"`$(calc)"'],
    ["a`b", '"a``b"'],
    ["\u201d; calc", '"`\u201d; calc"'],
    ["a\u202eb", '"a`u{202e}b"'],
    ["a\nb", '"a`u{a}b"'],
  ])("%j is written for cmd and PowerShell as %s", (text, word) => {
    expect(shellWord(text, "win32")).toBe(word);
  });

  it("on Windows leaves PowerShell nothing to act on, and cmd no open quote, whatever is in it", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 12 }), (text) => {
        const word = shellWord(text, "win32");
        expect(isInert(word)).toBe(true);
        if (!word.startsWith('"')) {
          expect(word).toMatch(/^[\w.:\\/-]+$/);
          return;
        }
        const inner = word.slice(1, -1).replaceAll(/`u\{[0-9a-f]+\}|`[$`\u201c-\u201e]|""/g, "");
        expect(inner).not.toMatch(/["$`\u201c\u201d\u201e]/);
      }),
    );
  });
});
