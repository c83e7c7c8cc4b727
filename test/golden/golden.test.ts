import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { sandboxAgent } from "../mcp/mcp-world.ts";
import { runCommand } from "../support/in-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What programs read of imggen. A change here is one that they see: `vitest -u` writes it, and a changelog names it. */
const goldenFile = (name: string) => path.join(import.meta.dirname, "files", `${name}.json`);

async function expectGolden(name: string, document: unknown): Promise<void> {
  await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot(goldenFile(name));
}

/** A document without what differs from run to run: ids, times, durations, folders and sizes of files. */
function settled(document: unknown, folder: string): unknown {
  const ids = new Map<string, string>();
  const idOf = (id: string) => ids.get(id) ?? ids.set(id, `<id ${ids.size + 1}>`).get(id);
  const text = JSON.stringify(document)
    .replaceAll(folder, "<folder>")
    .replace(/task_[0-9a-f]{4,}/g, (id) => `${idOf(id)}`)
    .replace(/\d{8}T\d{9}-[0-9a-f]{8}/g, (id) => `${idOf(id)}`)
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>")
    .replace(
      /"(bytes|seconds|elapsedMs|durationMs|waitedMs|millis|estimateMs|bytesFree)":\d+(?:\.\d+)?/g,
      '"$1":0',
    )
    .replace(/"\d{4}-\d\d-\d\d"/g, '"<day>"')
    .replace(/127\.0\.0\.1:\d+/g, "<server>")
    .replace(/expires=\d+/g, "expires=<time>")
    .replace(/-[0-9a-f]{8}\.png/g, "-<id>.png")
    .replace(/[0-9a-f]{64}/g, "<sha256>")
    .replace(/[0-9a-f]{16}/g, "<digest>");
  return JSON.parse(text);
}

it("describes itself to programs in the same words: --help --json", async () => {
  const { stdout } = await runCommand(["--help", "--json"], { home: "/nowhere" });
  const { version: _version, ...rest } = JSON.parse(stdout);
  await expectGolden("help", rest);
});

it("describes its tools to agents in the same words: tools/list", async () => {
  const { client } = await sandboxAgent();
  const { tools } = await client.listTools();
  await expectGolden("tools", tools);
});

it("answers each command with --json in the same form", async () => {
  const folder = await temporaryFolder();
  const [home, cwd] = [path.join(folder, "home"), path.join(folder, "work")];
  await Promise.all([mkdir(home), mkdir(cwd)]);
  await writeFile(
    path.join(cwd, "rows.csv"),
    "prompt,model\na fox [sandbox:slow=0],z-image\nan owl [sandbox:slow=0],z-image\n",
  );
  const answers: Record<string, unknown> = {};
  const answer = async (...args: string[]) => {
    const { code, stdout } = await runCommand([...args, "--json"], { home, cwd });
    const documents = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const document = documents.length === 1 ? documents[0] : documents;
    answers[args.join(" ").replace(/task_[0-9a-f]+/, "<id>")] = {
      exit: code,
      document: settled(document, folder),
    };
    return document;
  };
  const fox = "a fox [sandbox:slow=0]";
  await answer("generate", fox, "-m", "z-image", "--dry-run", "--sandbox");
  const { taskId } = await answer("generate", fox, "-m", "z-image", "-o", "fox.png", "--sandbox");
  await answer("generate", `${fox} [sandbox:fail]`, "-m", "z-image", "--sandbox");
  await answer("generate", fox, "-m", "z-image", "-r", "7:9", "--sandbox");
  await answer("generate", fox, "-m", "z-image", "--again", "--no-wait", "-o", "again.png", "--sandbox");
  await answer("status", taskId, "--sandbox");
  await answer("show", taskId, "--sandbox");
  await answer("resume", "--sandbox");
  await answer("rerun", taskId, "--dry-run", "--sandbox");
  await answer("cancel", taskId, "--sandbox");
  await answer("batch", "rows.csv", "-o", "rows", "--dry-run", "--sandbox");
  await answer("batch", "rows.csv", "-o", "rows", "--concurrency", "1", "--sandbox");
  await answer(
    "compare",
    fox,
    "-m",
    "z-image,gamma-image-2",
    "-q",
    "1K",
    "-o",
    "compared",
    "--concurrency",
    "1",
    "--sandbox",
  );
  await answer("history", "--sandbox");
  await answer("history", "--summary", "--sandbox");
  await answer("models", "--kind", "edit");
  await answer("models", "gamma-image-2");
  await answer("config", "set", "ratio", "16:9");
  await answer("config", "get", "ratio");
  await answer("config", "list");
  await answer("config", "unset", "ratio");
  await answer("login");
  await answer("logout");
  await answer("status", "task_0123");
  await expectGolden("commands", answers);
});
