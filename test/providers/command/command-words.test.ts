import { expect, it } from "vitest";
import { parseGeneratorCommand } from "../../../src/providers/command/command-words.ts";

it.each([
  ["/home/ada/bin/paint {promptFile} {width} {height} {output}", 5],
  ["convert -size {width}x{height} 'caption:{prompt}' {output}", 5],
  [`sh -c 'paint "$1" > "$2"' sh {promptFile} {output}`, 6],
  ["python3 /home/ada/paint.py --json {width} {promptFile} {output} {steps}", 7],
])("%s is taken", (text, count) => {
  expect(parseGeneratorCommand(text, "it")).toHaveLength(count);
});

it.each([
  ["", /^it cannot be read: it is empty/],
  ["paint {promptFile}", /^it has no \{output\}/],
  ["paint {output}", /^it has no \{promptFile\}/],
  ["paint {prompt-file} {output}", /^it holds \{prompt-file\}: it is spelled \{promptFile\}/],
  ["paint {promtFile} {output}", /^it holds \{promtFile\}, probably in place of \{promptFile\}\.$/],
  ["paint {promt} {output}", /^it holds \{promt\}, probably in place of \{prompt\}\.$/],
  ["paint {promptFile} {outptu}", /^it holds \{outptu\}, probably in place of \{output\}\.$/],
  ["paint {promptFile} {OUTPUT}", /^it holds \{OUTPUT\}: it is spelled \{output\}/],
  ["paint {promptFile} | tee {output}", /^it holds \|, and no shell runs it/],
  ["sh -c 'paint {prompt} > {output}'", /^it puts \{prompt\} inside a shell script/],
  ["./paint {promptFile} {output}", /^it names the program by a relative path, \.\/paint/],
])("%j is refused, with what is wrong and where examples are", (text, message) => {
  expect(() => parseGeneratorCommand(text, "it")).toThrow(
    expect.objectContaining({
      type: "usage",
      message: expect.stringMatching(message),
      hint: expect.stringContaining("imggen help command"),
    }),
  );
});
