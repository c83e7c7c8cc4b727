import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("every fault in must-be-survived.json has the test that it names, and every file here is in an area of it", async () => {
  const script = path.join(import.meta.dirname, "write-table.js");
  const { VITEST: _, ...env } = process.env;
  const checked = promisify(execFile)(process.execPath, [script, "--check"], { env });
  await expect(checked).resolves.toMatchObject({ stderr: "" });
});
