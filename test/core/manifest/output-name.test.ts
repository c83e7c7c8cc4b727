import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputNames, outputNameProblem } from "../../../src/core/manifest/output-name.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { cpuTimeOf } from "../../support/cpu-time.ts";
import { share } from "../../support/holds.ts";
import { words } from "../../support/words.ts";

describe("a row's output name", () => {
  it.each([
    ...words(`fox fox.png a/b/c/d .hidden ..fox ~fox a~/fox fox..png -rf con-man.png console 狐/雪.webp
    👩‍🚀.png v1.5`),
    "foxes/red fox.png",
    `${"x".repeat(251)}.png`,
    "x".repeat(250),
  ])("may be %j", (name) => {
    expect(outputNameProblem(name)).toBeNull();
  });

  it.each([
    ["", "it is empty"],
    ["  ", "it is empty"],
    ["/etc/passwd", "below the output folder"],
    ["//host/share", "below the output folder"],
    ["~/fox", "below the output folder"],
    ["~", "below the output folder"],
    ["C:/fox", "below the output folder"],
    ["c:fox", "below the output folder"],
    ["..", "must not leave"],
    ["../fox", "must not leave"],
    ["a/../fox", "must not leave"],
    ["a/..", "must not leave"],
    ["a\\fox", "backslash"],
    ["..\\fox", "backslash"],
    ["\\\\host\\share", "backslash"],
    [".", "an empty or"],
    ["./fox", "an empty or"],
    ["a//fox", "an empty or"],
    ["foxes/", "is a folder"],
    ["/", "below the output folder"],
    ["fox\n", "control"],
    ["fox\0.png", "control"],
    ["\u001b[31mfox", "control"],
    ["fox\u202egnp", "invisible"],
    ["fox\ud800", "control or invisible"],
    ["fox.png:stream", "a name cannot contain :"],
    ["what?", "a name cannot contain ?"],
    ["*", "a name cannot contain *"],
    ["fox.", "end in a dot"],
    ["foxes /fox", "end in a dot or a space"],
    ["fox ", "end in a dot or a space"],
    ["...", "end in a dot"],
    ["con", "reserve"],
    ["NUL.png", "reserve"],
    ["nul.tar.png", "reserve"],
    ["nul .png", "reserve"],
    ["a/com1/fox", "reserve"],
    ["x".repeat(251), "longer than 255 bytes"],
    ["x".repeat(256), "longer than 255 bytes"],
    [`${"é".repeat(126)}.png`, "longer than 255 bytes"],
    [`${"x".repeat(256)}/fox`, "longer than 255 bytes"],
    [`${"x/".repeat(400)}fox`, "longer than 768 bytes"],
  ])("may not be %j", (name, why) => {
    expect(outputNameProblem(name)).toContain(why);
  });

  it("is never outside its folder, whatever it is", () => {
    const step = fc.oneof(
      fc.constantFrom("..", ".", "/", "\\", "C:", "~", "\0", "fox", "%2e%2e", "．．", " "),
      fc.string({ unit: anyCharacter, maxLength: 4 }),
    );
    const name = fc.array(step, { maxLength: 8 }).map((steps) => steps.join(""));
    let accepted = 0;
    fc.assert(
      fc.property(name, (output) => {
        if (outputNameProblem(output) !== null) return;
        accepted += 1;
        expect(path.posix.resolve("/out", output)).toBe(`/out/${output}`);
        expect(path.win32.resolve("D:\\out", output)).toBe(`D:\\out\\${output.replaceAll("/", "\\")}`);
      }),
      { numRuns: share(20_000) },
    );
    expect(accepted).toBeGreaterThan(share(500));
  });
});

describe("the output names of a batch", () => {
  const taken = (...names: string[]) => {
    const all = new OutputNames();
    return names.map((name, index) => all.add(index + 1, name));
  };

  it.each([
    ["fox", "fox"],
    ["fox.png", "fox.png"],
    ["fox.png", "Fox.PNG"],
    ["fox", "FOX"],
    ["fox", "fox.png"],
    ["fox.avif", "fox"],
    ["Fox.JPEG", "fox"],
    ["a/fox", "A/fox.webp"],
    ["caf\u00e9.png", "cafe\u0301.png"],
    ["ΟΔΟΣ", "οδος"],
    ["οδοσ.png", "οδος.png"],
    ["straße", "STRASSE"],
    ["\u212bngstr\u00f6m", "ångström"],
    ["fox.png", "fox.png/owl"],
    ["fox.png/owl", "FOX.png"],
    ["fox.png/a/owl", "fox"],
    ["fox", "fox.png/owl"],
    ["fox.png/owl", "Fox.PNG/Owl.gif"],
  ])("hold %j and %j for one", (first, second) => {
    const [free, problem] = taken(first, second);
    expect(free).toBeNull();
    expect(problem).toBe(
      `output "${second}" conflicts with the output of line 1; each row needs its own file`,
    );
  });

  it.each([
    ["fox.png", "fox.jpg"],
    ["fox", "fox.txt"],
    ["fox", "fox/owl"],
    ["fox.txt/owl", "fox"],
    ["fox.png/owl", "fox.png/cat"],
    ["a/fox", "b/fox"],
    ["fox", "foxes"],
    ["fox.png", "fox.png.png"],
    ["v1", "v1.5"],
    [".png", "fox"],
    ["a/b", "a/c"],
  ])("hold %j and %j apart", (first, second) => {
    expect(taken(first, second)).toEqual([null, null]);
    expect(taken(second, first)).toEqual([null, null]);
  });

  it("are told the first line that has a name", () => {
    const [, , problem, next] = taken("owl", "fox.png", "Fox.png", "fox");
    expect(problem).toContain("line 2");
    expect(next).toContain("line 2");
  });

  it("take twenty thousand names at once", async () => {
    const all = new OutputNames();
    const names = Array.from({ length: 20_000 }, (_, index) => `foxes/fox-${index}`);
    const cost = await cpuTimeOf(() =>
      expect(names.filter((name, index) => all.add(index + 1, name) !== null)).toEqual([]),
    );
    expect(cost).toBeLessThan(20_000);
  });
});
