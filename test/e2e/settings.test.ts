import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";
import { systemProcesses } from "../../src/lib/processes.ts";
import { SettingsStore } from "../../src/store/settings-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("settings lose none of the changes of several processes", async () => {
  const folder = await temporaryFolder();
  const writer = await bundledWriter();
  const names = ["model", "ratio", "quality"];
  const runs = names.map((name) => promisify(execFile)(process.execPath, [writer, folder, name]));
  for (const { stdout } of await Promise.all(runs)) expect(stdout).toBe("kept all 12");
  expect(await new SettingsStore(folder, systemProcesses()).read()).toEqual({
    model: "12",
    ratio: "12",
    quality: "12",
  });
}, 20_000);

/** A program that changes one setting 12 times, and looks after each time whether it was kept. */
async function bundledWriter(): Promise<string> {
  const folder = await temporaryFolder();
  const source = path.join(import.meta.dirname, "../../src");
  const entry = path.join(folder, "writer.ts");
  await writeFile(
    entry,
    `import { systemProcesses } from ${JSON.stringify(path.join(source, "lib/processes.ts"))};
    import { SettingsStore } from ${JSON.stringify(path.join(source, "store/settings-store.ts"))};
    const [, , folder, name] = process.argv;
    const store = new SettingsStore(folder, systemProcesses());
    let kept = 0;
    for (let turn = 1; turn <= 12; turn++) {
      await store.update({ [name]: String(turn) });
      if ((await store.read())[name] === String(turn)) kept += 1;
    }
    process.stdout.write(kept === 12 ? "kept all 12" : "kept " + kept);`,
  );
  const build = await rolldown({ input: entry, platform: "node", logLevel: "silent" });
  await build.write({ dir: path.join(folder, "out"), format: "esm", entryFileNames: "writer.mjs" });
  await build.close();
  return path.join(folder, "out", "writer.mjs");
}
