import { expect, it } from "vitest";
import { fillPlaceholders, splitCommand } from "../../src/lib/command-line.ts";

it.each([
  ["up {file}", ["up", "{file}"]],
  ["  up\t --to  'my bucket'  {file} ", ["up", "--to", "my bucket", "{file}"]],
  [`up --say="it's" 'a "b"'`, ["up", "--say=it's", 'a "b"']],
  [`up "" ''`, ["up", "", ""]],
  ["C:\\tools\\up.exe {file}", ["C:\\tools\\up.exe", "{file}"]],
  ["up $HOME *.png `id`", ["up", "$HOME", "*.png", "`id`"]],
])("%s is split at blanks, and quotes keep a word together", (text, words) => {
  expect(splitCommand(text)).toEqual(words);
});

it.each([
  ["", /empty/],
  [" \t", /empty/],
  ["up 'a b", /quote ' is not closed/],
  [`up "a' b`, /quote " is not closed/],
])("%j is no command", (text, problem) => {
  expect(splitCommand(text)).toMatch(problem);
});

it("replaces placeholders once: what a value holds stays as it is", () => {
  const values = { prompt: "a {width} $& fox", width: "64" };
  expect(fillPlaceholders(["--size={width}x{width}", "{prompt}", "{other}", "{toString}"], values)).toEqual([
    "--size=64x64",
    "a {width} $& fox",
    "{other}",
    "{toString}",
  ]);
});
