import { describe, expect, it } from "vitest";
import { formatOfText, manifestFormat } from "../../../src/core/manifest/manifest-format.ts";
import { UsageError } from "../../../src/lib/error-types.ts";

describe("a manifest's format", () => {
  it.each([
    ["foxes.txt", "txt"],
    ["foxes.jsonl", "jsonl"],
    ["foxes.ndjson", "jsonl"],
    ["foxes.csv", "csv"],
    ["FOXES.CSV", "csv"],
    ["in.a.folder.txt/foxes.v2.JsonL", "jsonl"],
    ["-", "detect"],
    ["/dev/stdin", "detect"],
    ["/dev/fd/63", "detect"],
    ["/proc/self/fd/0", "detect"],
    ["/dev/null", "detect"],
  ])("of %s is %s", (file, format) => {
    expect(manifestFormat(file)).toBe(format);
  });

  it.each(["foxes", "foxes.json", "foxes.tsv", "foxes.csv.gz", ".csv", ""])(
    "of %j is not known, and the ones known are named",
    (file) => {
      expect(() => manifestFormat(file)).toThrow(UsageError);
      expect(() => manifestFormat(file)).toThrow(/^The format of .* is not recognised: it (has no|ends in)/);
      expect(() => manifestFormat(file)).toThrow(
        expect.objectContaining({ hint: expect.stringMatching(/\.txt.*\.jsonl.*\.ndjson.*\.csv/) }),
      );
    },
  );

  it.each([
    ['{"prompt":"a fox"}', "jsonl"],
    ['  \t{"prompt":', "jsonl"],
    ["a {fox}", "txt"],
    ["[sandbox:fail] a fox", "txt"],
    ["# a comment", "txt"],
    ['"prompt","model"', "txt"],
  ])("of text that begins with %j is %s", (line, format) => {
    expect(formatOfText(line)).toBe(format);
  });
});
