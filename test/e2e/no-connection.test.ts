import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { liveSockets } from "../support/live-server.ts";
import { runProgram } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it.each([
  ["a dry run", 0, ["a fox", "--dry-run"]],
  ["a request that the matrix forbids", 2, ["a fox", "--model", "gamma-image-2", "--ratio", "7:5"]],
  ["a cap that is too low", 2, ["a fox", "--model", "gamma-image-2", "--max-credits", "0"]],
  ["an output place that cannot be used", 8, ["a fox", "--output", "file/below/"]],
])("no connection is opened for %s", async (_what, exitCode, args) => {
  let connections = 0;
  const port = await liveSockets(() => {
    connections += 1;
  });
  const cwd = await temporaryFolder();
  await writeFile(path.join(cwd, "file"), "");
  const env = {
    IMGGEN_HOME: await temporaryFolder(),
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `http://127.0.0.1:${port}/api`,
  };
  const { code } = await runProgram(["generate", ...args], { cwd, env });
  expect(code).toBe(exitCode);
  expect(connections).toBe(0);
});
