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
  ["paint {prompt-file} {output}", /^it contains \{prompt-file\}: write \{promptFile\}/],
  ["paint {promtFile} {output}", /^it contains \{promtFile\}, probably instead of \{promptFile\}\.$/],
  ["paint {promt} {output}", /^it contains \{promt\}, probably instead of \{prompt\}\.$/],
  ["paint {promptFile} {outptu}", /^it contains \{outptu\}, probably instead of \{output\}\.$/],
  ["paint {promptFile} {OUTPUT}", /^it contains \{OUTPUT\}: write \{output\}/],
  ["paint {promptFile} | tee {output}", /^it contains \|, but the command runs without a shell/],
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
