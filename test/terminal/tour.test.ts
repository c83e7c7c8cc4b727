import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { SANDBOX_KEY, startSandbox } from "../../src/sandbox/server.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { words } from "../support/words.ts";

/** A command of README, and the lines that it shows on a terminal according to it. */
interface Shown {
  command: string;
  lines: string[];
}

async function readShown(): Promise<Shown[]> {
  const readme = await readFile(path.resolve(import.meta.dirname, "../../README.md"), "utf8");
  const blocks = [...readme.matchAll(/```console\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const [command = "", ...lines] = text.trimEnd().split("\n");
        return { command, lines };
      }),
  );
}

/** Lines with what differs from run to run left out. Rows of a batch end in any order. */
function comparable(lines: readonly string[], folder: string): string[] {
  const same = lines.map((line) =>
    line
      .replaceAll(folder, "/home/ada")
      .replace("/home/ada/home/config/", "/home/ada/.config/imggen/")
      .replace(/127\.0\.0\.1:\d+/, "example.com")
      .replaceAll(/task_[0-9a-f]+/g, "task_…")
      .replaceAll(/-[0-9a-f]{8}\.png/g, "-….png")
      .replaceAll(/\b[\d.]+ m?s\b/g, "… s")
      .replace(/^( {2}Nothing was sent\. Models that take \S+:).*/, "$1 …"),
  );
  return same.sort();
}

it.skipIf(!hasScreen)("README shows what its commands leave on a terminal", async () => {
  const folder = await temporaryFolder();
  const sandbox = await startSandbox({ folder: path.join(folder, "service"), latencyMs: 200 });
  onTestFinished(() => sandbox.close());
  const shown = await readShown();
  expect(shown.length).toBeGreaterThan(4);
  for (const { command, lines } of shown) {
    if (!command.startsWith("imggen ")) {
      await promisify(execFile)("sh", ["-c", command], { cwd: folder });
      continue;
    }
    const real = command.replace("https://example.com/api", sandbox.baseUrl);
    const env = { IMGGEN_HOME: path.join(folder, "home") };
    const screen = await Screen.start(words(real).slice(1), { columns: 300, rows: 40, cwd: folder, env });
    if (real.startsWith("imggen login")) {
      await screen.shows(/^API key for /m);
      await screen.type(SANDBOX_KEY, "Enter");
      await screen.shows(/by default\? \[Y\/n\]/);
      await screen.type("Enter");
    }
    await screen.end();
    expect(comparable(await screen.lines(), folder), command).toEqual(comparable(lines, folder));
  }
});
