import { expect, it } from "vitest";
import { parseUploadCommand, wordsFor } from "../../../src/core/references/upload-command.ts";

it("has the file's path in place of {file}, within a word too, however the file is named", () => {
  const command = parseUploadCommand("curl -F 'file=@{file}' --name {file}.png https://up.example", "it");
  expect(wordsFor(command, "/a b/$&;{file}.png")).toEqual([
    "curl",
    "-F",
    "file=@/a b/$&;{file}.png",
    "--name",
    "/a b/$&;{file}.png.png",
    "https://up.example",
  ]);
});

it.each([
  ["upload", /^it has no \{file\}/],
  ["", /^it cannot be read: it is empty/],
  ["upload {file} | tail -1", /^it contains \|, but is not run by a shell/],
  ["sh -c 'upload {file}'", /^it puts \{file\} inside a shell script/],
  ['/bin/bash -ec "upload {file} && link"', /^it puts \{file\} inside a shell script/],
])("%j is refused, with what is wrong and where examples are", (text, message) => {
  expect(() => parseUploadCommand(text, "it")).toThrow(
    expect.objectContaining({
      type: "usage",
      message: expect.stringMatching(message),
      hint: expect.stringContaining("imggen help uploads"),
    }),
  );
});

it.each(["sh /home/ada/up.sh {file}", `sh -c 'up "$1" && link "$1"' sh {file}`, "up --header 'a: b' {file}"])(
  "%s is taken",
  (text) => {
    expect(parseUploadCommand(text, "it").text).toBe(text);
  },
);
