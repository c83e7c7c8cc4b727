import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { answeringServer } from "../support/answering-server.ts";
import { runProgram } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it.each([
  ["a dry run", ["a fox", "--dry-run"]],
  ["a request that the matrix forbids", ["a fox", "--model", "gamma-image-2", "--ratio", "7:5"]],
  ["a cap that is too low", ["a fox", "--model", "gamma-image-2", "--max-credits", "0"]],
])("no connection is opened for %s", async (_what, args) => {
  const { sockets, origin } = await answeringServer();
  const env = {
    IMGGEN_HOME: await temporaryFolder(),
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `${origin}/api`,
  };
  await runProgram(["generate", ...args], { env });
  expect(sockets).toEqual([]);
});

it("a connection is opened for a valid request, before the rest is checked", async () => {
  const { sockets, origin } = await answeringServer();
  const env = {
    IMGGEN_HOME: await temporaryFolder(),
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `${origin}/api`,
  };
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, "file"), "");
  const { code } = await runProgram(["generate", "a fox", "--output", path.join(folder, "file/below/")], {
    env,
  });
  expect(code).toBe(8);
  expect(sockets).toHaveLength(1);
  expect(sockets[0]?.bytesRead).toBe(0);
});
