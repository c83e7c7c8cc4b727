import { execFile, execFileSync } from "node:child_process";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const run = promisify(execFile);

const INITIALIZE = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

const COPIED = ["src", "bin", ".build", ".github", ".rolldown.config.js", "package.json", "tsconfig.json"];

/** A row of the recipe: what is inserted into a file, before a text. */
const ROW = /```ts\n\/\/ (\S+), before: (.+)\n([\s\S]*?)```/g;

async function insertRows(folder: string): Promise<string[]> {
  const guide = await readFile(path.join(ROOT, ".github/docs/recipes.md"), "utf8");
  const rows = [...guide.matchAll(ROW)];
  for (const [, name = "", anchor = "", row = ""] of rows) {
    const file = path.join(folder, name);
    const parts = (await readFile(file, "utf8")).split(anchor);
    expect([name, parts.length]).toEqual([name, 2]);
    await writeFile(file, parts.join(`${row}${anchor}`));
  }
  return rows.map(([, name = ""]) => name);
}

it("the recipe's three rows add an option to generate, batch, package and agents' tools", async () => {
  const folder = await temporaryFolder();
  for (const name of COPIED) await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
  expect(await insertRows(folder)).toHaveLength(3);
  const env = { ...process.env, IMGGEN_HOME: path.join(folder, "home") };
  const execute = async (...args: string[]) =>
    (await run(process.execPath, args, { cwd: folder, env })).stdout;
  const imggen = (...args: string[]) => execute("bin/imggen.cjs", ...args);
  const tsc = path.join(ROOT, "node_modules/typescript/bin/tsc");
  const config = '{ "extends": "./tsconfig.json", "include": ["src"] }';
  await writeFile(path.join(folder, "tsconfig.src.json"), config);
  expect(await execute(tsc, "--project", "tsconfig.src.json")).toBe("");
  await execute(".build/program.js");
  const dryRun = ["--sandbox", "--dry-run", "--json"];
  const generated = await imggen("generate", "a fox", "--style", "oil", ...dryRun);
  expect(JSON.parse(generated).request).toMatchObject({ prompt: "a fox", style: "oil" });
  await writeFile(path.join(folder, "rows.csv"), "prompt,style\na fox,oil\nan owl,\n");
  const planned = await imggen("batch", "rows.csv", "--style", "ink", ...dryRun);
  expect(planned).toMatch(/"style":"oil"[\s\S]*"style":"ink"/);
  const estimated = `const { createClient } = require("./dist/client.cjs");
    console.log(createClient({ sandbox: true }).estimate({ prompt: "a fox", style: "oil" }).request.style);`;
  expect(await execute("-e", estimated)).toBe("oil\n");
  const listed = execFileSync(process.execPath, ["bin/imggen.cjs", "mcp", "--sandbox"], {
    cwd: folder,
    env,
    input: [INITIALIZE, { method: "notifications/initialized" }, { id: 2, method: "tools/list", params: {} }]
      .map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
      .join(""),
  });
  expect(listed.toString()).toContain('"style":{"type":"string","description":"Style of the image."}');
}, 600_000);
