import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../../..");

it("the documentation's package is the one that is tested, and its code has forty lines at most", async () => {
  const code = await readFile(path.join(ROOT, "test/support/imggen-provider-example/index.js"), "utf8");
  const page = await readFile(path.join(ROOT, ".github/docs/providers.md"), "utf8");
  expect(page).toContain(`\`\`\`js\n${code}\`\`\``);
  expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});
