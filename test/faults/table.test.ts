import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the table of faults names a test for every fault, and is what the tests say now", async () => {
  const script = path.join(import.meta.dirname, "write-table.js");
  const { VITEST: _, ...env } = process.env;
  const checked = promisify(execFile)(process.execPath, [script, "--check"], { env });
  await expect(checked).resolves.toMatchObject({ stderr: "" });
});
