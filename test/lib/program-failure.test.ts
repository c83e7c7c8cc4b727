import { expect, it } from "vitest";
import { programFailure } from "../../src/lib/program-failure.ts";

const ended = (stderr: string) =>
  programFailure({ kind: "ended", code: 1, killedBy: null, stdout: "", stderr }, "paint", 1000);

it("ends with the last lines that a program said, and shows where they were cut", () => {
  expect(ended("")).toBe("failed with exit code 1");
  expect(ended("one\r\ntwo\n\n three \nfour\n")).toBe("failed with exit code 1: two / three / four");
  expect(ended(`${"a".repeat(400)}z`)).toBe(`failed with exit code 1: …${"a".repeat(299)}z`);
});
