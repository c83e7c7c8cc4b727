import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { UsageError } from "../../../src/lib/error-types.ts";
import { readMatrix } from "../../../src/models/matrix-file/read.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function fileOf(content: string | Buffer): Promise<string> {
  const file = path.join(await temporaryFolder(), "models.json");
  await writeFile(file, content);
  return file;
}

it.each(["", "\uFEFF"])("a matrix file is read, after %j", async (mark) => {
  const matrix = readMatrix(await fileOf(`${mark}[{"id": "new/one"}]\n`), "");
  expect(matrix.at(-1)).toMatchObject({ id: "new/one" });
});

it.each([
  ["an empty file", "", "it is empty"],
  ["a blank file", " \n", "it is empty"],
  ["a byte-order mark alone", "\uFEFF", "it is empty"],
  ["what is not JSON", "models", /^it is not JSON: /],
  ["JSON with an error, by its line", '[\n  {"id": "a"}\n  {"id": "b"}\n]', /^it is not JSON: .* in line 3$/],
  ["JSON that is cut short", '[{"id": "a"', /^it is not JSON: /],
  ["a wrong field", '[{"id": "a", "kinds": 1}]', "models[0].kinds must be a list, not 1"],
  ["what is not UTF-8, by its offset", Buffer.from([0x5b, 0xff, 0x5d]), "it is not UTF-8 at byte 1"],
  ["a file that is too large", Buffer.alloc(1024 * 1024 + 1, " "), "it is larger than 1 MiB"],
])("%s is refused, with the file and the hint", async (_what, content, why) => {
  const file = await fileOf(content);
  const refused = thrownBy(() => readMatrix(file, "Nothing was sent."));
  expect(refused).toBeInstanceOf(UsageError);
  const [, told] = /^The model matrix (?:.*) cannot be used: (.*)\.$/s.exec(refused.message) ?? [];
  expect(refused.message).toContain(file);
  expect(told).toEqual(typeof why === "string" ? why : expect.stringMatching(why));
  expect(refused).toMatchObject({ hint: "Nothing was sent." });
});

it("a file that is not there, a folder, a named pipe and a device are refused, and nothing waits", async () => {
  const folder = await temporaryFolder();
  const pipe = path.join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  await mkdir(path.join(folder, "folder"));
  for (const [file, why] of [
    [path.join(folder, "none"), "no such file or folder (ENOENT)"],
    [path.join(folder, "folder"), "it is a folder"],
    [pipe, "it is not a regular file"],
    ["/dev/zero", "it is not a regular file"],
  ] as const)
    expect(thrownBy(() => readMatrix(file, "")).message).toBe(
      `The model matrix ${file} cannot be used: ${why}.`,
    );
});

it.skipIf(process.getuid?.() === 0)("a file without permission to read it is refused", async () => {
  const file = await fileOf("[]");
  await chmod(file, 0);
  expect(thrownBy(() => readMatrix(file, "")).message).toContain("permission denied");
});

function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}
