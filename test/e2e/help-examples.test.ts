import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand } from "../support/in-process.ts";
import { deadPort } from "../support/live-server.ts";
import { finished, startProgram } from "../support/program.ts";
import { type SandboxShell, sandboxShell } from "../support/sandbox-shell.ts";
import { handlesSignals } from "../support/started.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { words } from "../support/words.ts";

const ROOT = "imggen";
const COMMANDS = words(
  "imggen generate status resume history rerun batch compare models login logout config",
);

/** What an example does: how many images it saves, and what it prints. */
interface Effect {
  images?: number;
  prints?: RegExp;
}

const saves = (images: number, prints: RegExp): Effect => ({ images, prints });
const NOTHING = saves(0, /^$/);
const IMAGE = saves(1, /\.png$/);

/** By how the examples begin, the longest that fits. One that is not here is one that nobody has tried. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  "imggen generate": IMAGE,
  'imggen generate "a red fox" --model gamma-image-2 --dry-run': saves(0, /^2 credits, nothing/m),
  'imggen generate "a red fox" --generator sdapi:http://gpubox:7860 --seed 1-8 --dry-run': saves(
    0,
    /^8 requests, 8 to submit: .*, nothing/m,
  ),
  'imggen generate "a red fox" -m gamma-image-2 -q 2K --dry-run': saves(0, /^4 credits, nothing/m),
  "imggen generate --prompt-file prompt.txt": saves(1, /pictures\/a-lighthouse-\d{4}-\d\d-\d\d\.png$/),
  'echo "a quiet harbour" | imggen generate --json': { images: 1, prints: /^\{"ok":true,.*a quiet harbour/ },
  "imggen status": { images: 0, prints: /^task_\w+ {2}(?:made|completed)/ },
  "imggen status task_3f9c --wait --output fox.png": { images: 1, prints: /fox\.png$/ },
  "imggen status task_3f9c task_81ab --json": { images: 0, prints: /^\{"ok":true.*\n\{"ok":true/ },
  "imggen resume": { images: 1, prints: /\.png$/ },
  "imggen resume task_3f9c": { images: 0, prints: /a-fox-3f9c\.png$/ },
  "imggen resume task_3f9c --output fox.png": { images: 1, prints: /fox\.png$/ },
  "imggen resume 20261121T143052118-9c41d07e --dismiss": NOTHING,
  "imggen history": { prints: /^SUBMITTED .*\n(.*\n)*.* completed .*a fox/ },
  "imggen history fox --since 7d": { prints: /a fox/ },
  "imggen history --unfinished": { prints: /an owl/ },
  "imggen history --status unfinished --limit 5": { prints: /an owl/ },
  "imggen history --summary": { prints: /^DAY .*\n.* gamma-image-2 .*\n(.*\n)*total/ },
  "imggen history --all --json": { prints: /^\[\{"id":/ },
  "imggen rerun": IMAGE,
  "imggen rerun task_3f9c --output another-fox.png": { images: 1, prints: /another-fox\.png$/ },
  "imggen rerun a-fox-3f9c.png --dry-run": { images: 0, prints: /"prompt": "a fox"/ },
  "imggen batch prompts.txt": { images: 2 },
  "imggen batch products.csv": { images: 2 },
  "imggen batch products.csv --dry-run": { images: 0, prints: /^2 rows, / },
  "imggen batch foxes.csv": { images: 2, prints: /\bred-\w+\.png$/m },
  "jq -c '.[] | {prompt: .title}' books.json | imggen batch - --json": saves(
    1,
    /"summary","rows":1,"saved":1/,
  ),
  "imggen compare": { images: 2, prints: /^MODEL .*\n(?!.*skipped)[\s\S]*\.png$/ },
  'imggen compare "a red fox" -m gamma-image-2 -r 1:1,16:9 -q 1K,2K --dry-run': saves(
    0,
    /^RATIO +QUALITY +CREDITS\n(?:(?:1:1|16:9) .*\n){3}16:9 /,
  ),
  "imggen models": { prints: /^MODEL .*\n/ },
  "imggen models --ratio 21:9": { prints: /^gamma-image-2 /m },
  "imggen models gamma-image-2": { prints: /^gamma-image-2\n {2}kind/ },
  "imggen models --kind edit": { prints: /^delta-Image |^gamma-image-2 /m },
  "imggen models --quality 4K --json": { prints: /^\[\{"id":/ },
  "imggen login": NOTHING,
  "printenv IMGGEN_API_KEY | imggen login": NOTHING,
  "imggen logout": NOTHING,
  "imggen config list": { prints: /^NAME .*\n/ },
  "imggen config set model gamma-image-2": NOTHING,
  "imggen config get model": { prints: /^gamma-image-2$/ },
  "imggen config unset model": NOTHING,
};

function effectOf(example: string): Effect | undefined {
  const beginnings = Object.keys(EFFECTS).filter((beginning) => example.startsWith(beginning));
  return EFFECTS[beginnings.toSorted((a, b) => b.length - a.length)[0] ?? ""];
}

/** The examples at the end of a command's help, as they would be pasted. */
async function examplesOf(command: string): Promise<string[]> {
  const words = command === ROOT ? [] : [command];
  const { stdout } = await runCommand([...words, "--help", "--all"], { home: await temporaryFolder() });
  const lines = stdout.split(/^Examples:$/m)[1]?.split("\n") ?? [];
  // What stands after three blanks is a remark.
  return lines.flatMap((line) => /^ {2}\$ (.*?)(?: {3,}.*)?$/.exec(line)?.[1] ?? []);
}

const USES_TASKS = /task_|-3f9c|resume|history/;
const LOST = "20261121T143052118-9c41d07e";

/** A folder with all that the examples start from, each made as its name says. */
class Examples {
  readonly folder: string;
  readonly #shell: SandboxShell;
  /** What stands for what in an example. */
  readonly #meant: [RegExp, string][] = [];

  private constructor(shell: SandboxShell) {
    this.folder = shell.folder;
    this.#shell = shell;
  }

  static async prepare(examples: readonly string[]): Promise<Examples> {
    const shell = await sandboxShell();
    const { folder, baseUrl } = shell;
    const world = new Examples(shell);
    await mkdir(path.join(folder, "pictures"));
    for (const [name, text] of Object.entries(FILES)) await writeFile(path.join(folder, name), text);
    world.#meant.push(
      [/https:\/\/example\.com\/api/g, baseUrl],
      [/jq -c '\.\[\] \| \{prompt: \.title\}' books\.json/g, `printf '{"prompt":"a book"}\\n'`],
      [/ \| jq .*$/g, ""],
      // A generator's key is tried at its server, which is nobody's here.
      [/--generator https:\/\/images\.example\.com/g, "$& --no-verify"],
      [/^imggen login/g, "echo sk-sandbox | imggen login"],
    );
    if (examples.some((example) => USES_TASKS.test(example))) await world.#prepareTasks();
    return world;
  }

  /** A saved fox, and an owl that nobody has waited for. */
  async #prepareTasks(): Promise<void> {
    const fox = JSON.parse(await this.#generate("a fox", "-o", "a-fox-3f9c.png"));
    const owl = JSON.parse(await this.#generate("an owl", "--no-wait"));
    const owlStatus = () => this.#run(["status", owl.taskId, "--json"]);
    await expect.poll(owlStatus).toContain('"status":"completed"');
    this.#meant.push([/task_3f9c/g, fox.taskId], [/task_81ab/g, owl.taskId]);
  }

  /** A request whose reply was lost. */
  async #prepareLost(): Promise<void> {
    await this.#generate("a hare [sandbox:drop]");
    const [lost] = JSON.parse(await this.#run(["history", "--json"]));
    this.#meant.push([new RegExp(LOST, "g"), lost.id]);
  }

  #generate(...args: string[]): Promise<string> {
    return this.#run(["generate", ...args, "-m", "gamma-image-2", "-q", "1K", "--json"]);
  }

  async #run(args: readonly string[]): Promise<string> {
    const { IMGGEN_HOME = "", ...env } = this.#shell.env;
    return (await runCommand(args, { home: IMGGEN_HOME, cwd: this.folder, env })).stdout;
  }

  async run(example: string): Promise<{ prints: string; images: number }> {
    if (example.includes(LOST)) await this.#prepareLost();
    const line = this.#meant.reduce((text, [name, real]) => text.replace(name, real), example);
    const before = await this.#images();
    const { stdout } = await this.#shell.run(line);
    const after = await this.#images();
    return { prints: stdout.trimEnd(), images: after.filter((name) => !before.includes(name)).length };
  }

  async #images(): Promise<string[]> {
    return (await readdir(this.folder, { recursive: true })).filter((name) => name.endsWith(".png"));
  }
}

const FILES = {
  "prompt.txt": "a lighthouse\n",
  "prompts.txt": "a red fox\na snow hare\n",
  "foxes.csv": "colour\nred\ngrey\n",
  "products.csv": 'prompt,ratio\n"a linen shirt",1:1\n"a wool coat",3:4\n',
};

describe("the examples in the help", () => {
  it.each(COMMANDS)("of %s run, and do what they say", { timeout: 180_000 }, async (command) => {
    const examples = await examplesOf(command);
    expect(examples.length).toBeGreaterThan(0);
    const world = await Examples.prepare(examples);
    for (const example of examples) {
      const effect = effectOf(example);
      expect(effect, `nobody has said what this does: ${example}`).toBeDefined();
      const done = await world.run(example);
      if (effect?.images !== undefined) expect(done.images, example).toBe(effect.images);
      if (effect?.prints !== undefined) expect(done.prints, example).toMatch(effect.prints);
    }
  });

  it("of sandbox and serve go on until they are stopped", { timeout: 180_000 }, async () => {
    const port = String(await deadPort());
    for (const example of [...(await examplesOf("sandbox")), ...(await examplesOf("serve"))]) {
      const args = example.replace("8787", port).split(" ").slice(1);
      const program = startProgram(args, { env: { IMGGEN_HOME: await temporaryFolder() } });
      const end = finished(program);
      await handlesSignals(program);
      await new Promise((resolve) => program.stdout?.once("data", resolve));
      program.kill("SIGINT");
      const { code, stdout } = await end;
      expect(code, example).toBe(130);
      expect(stdout, example).toContain(
        example.includes("--port") ? `http://127.0.0.1:${port}/api` : "IMGGEN_API_KEY=sk-",
      );
    }
  });
});
