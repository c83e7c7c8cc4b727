import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { FOLDER_ID_FILE } from "../../src/store/batch-folders.ts";
import { commandWorld, type Document, submitted } from "./command-world.ts";
import type { RunOptions } from "./in-process.ts";
import { type Behaviour, type ServiceScript, success } from "./scripted-server.ts";

/** A world in which batches run: manifests by their text. */
export type BatchWorld = Awaited<ReturnType<typeof batchWorld>>;

/** A model whose price is documented: 2 credits, and 4 for 2K. */
export const PRICED = "gamma-image-2";
export const TWO_CREDITS = ["-m", PRICED, "-q", "1K"];

/** So many prompts: `fox 0`, `fox 1`, … */
export const foxes = (count: number): string[] => Array.from({ length: count }, (_, index) => `fox ${index}`);

export async function batchWorld(script: ServiceScript = {}) {
  const world = await commandWorld(script);
  return {
    ...world,
    /** Writes a manifest into the current folder. @returns its name */
    async manifest(name: string, ...lines: readonly (string | object)[]) {
      const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
      await writeFile(path.join(world.cwd, name), `${text.join("\n")}\n`);
      return name;
    },
    /**
     * Runs `batch … --json`, and fails where standard output holds anything but JSON lines.
     * @returns an object for each row, in the order of their ends, and the last one
     */
    async batchJson(args: readonly string[], options?: Partial<RunOptions>) {
      const { code, stdout, stderr } = await world.run(["batch", ...args, "--json"], options);
      const documents = jsonLines(stdout);
      const summary = documents.pop() as Document;
      return { code, rows: documents, summary, stderr };
    },
    /** The prompts of all submits, in order. */
    prompts: () => submitted(world).map((body) => (body as { prompt: string }).prompt),
  };
}

/** What a batch has saved below a folder, without the folder's id. */
export async function imagesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name !== FOLDER_ID_FILE).sort();
}

/** Standard output as JSON lines, each a whole document. */
export function jsonLines(stdout: string): Document[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Takes a submit, and names its task after its prompt: `a fox` becomes `task-a-fox`. */
export const accepts: Behaviour = ({ body }, socket) => {
  socket.write(success({ taskId: `task-${promptOf(body).replaceAll(" ", "-")}` }));
};

/** Answers each submit by its prompt; what is not named is accepted. */
export function byPrompt(behaviours: Record<string, Behaviour>): Behaviour {
  return (request, socket) => (behaviours[promptOf(request.body)] ?? accepts)(request, socket);
}

function promptOf(body: string): string {
  return String(JSON.parse(body).prompt);
}
