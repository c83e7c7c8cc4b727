import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { accepts, type BatchWorld, batchWorld, imagesIn, TWO_CREDITS } from "../../support/batch-world.ts";
import { completedAt, stillRunning } from "../../support/scripts.ts";

const PROMPTS = ["a fox", "a hen", "an owl"];
const ID_FILE = ".imggen-batch";

const batchInto = (out: string, ...flags: string[]) => [
  "batch",
  "p.txt",
  ...TWO_CREDITS,
  "-o",
  out,
  ...flags,
];

/** A world in which a batch has been saved into `out`. */
async function savedBatch(): Promise<{ world: BatchWorld; at: (name: string) => string }> {
  const world = await batchWorld();
  await world.manifest("p.txt", ...PROMPTS);
  expect((await world.run(batchInto("out"))).code).toBe(0);
  return { world, at: (name) => path.join(world.cwd, name) };
}

describe("a batch's folder", () => {
  it("gets none by --dry-run, nor where the cost is refused", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...PROMPTS);
    expect((await world.run(batchInto("out", "--dry-run"))).code).toBe(0);
    expect((await world.run(batchInto("out", "--max-credits", "1"))).code).toBe(2);
    expect(await readdir(world.cwd)).toEqual(["p.txt"]);
    expect((await world.listing()).filter((name) => name.includes("folders"))).toEqual([]);
  });
});

describe("a batch whose folder is reached in another way", () => {
  it("names the files where they are now", async () => {
    const { world, at } = await savedBatch();
    await rename(at("out"), at("new"));
    const { stdout } = await world.run(batchInto("new"));
    expect(stdout.trimEnd().split("\n").toSorted()).toEqual(
      (await imagesIn(at("new"))).map((name) => path.join(at("new"), name)),
    );
  });

  it("downloads into the new place what is missing there, for nothing", async () => {
    const { world, at } = await savedBatch();
    await rename(at("out"), at("new"));
    const [first = ""] = await imagesIn(at("new"));
    await rm(path.join(at("new"), first));
    const { summary } = await world.batchJson(batchInto("new").slice(1));
    expect(summary).toMatchObject({ saved: 1, skipped: 2, credits: 0 });
    expect(await imagesIn(at("new"))).toContain(first);
    expect((await readdir(world.cwd)).sort()).toEqual(["new", "p.txt"]);
    expect(world.server.submits()).toHaveLength(3);
  });

  it("saves there what was unfinished", async () => {
    let done = false;
    const world = await batchWorld({
      submit: accepts,
      poll: (request, socket) => (done ? completedAt("/1.png") : stillRunning)(request, socket),
    });
    await world.manifest("p.jsonl", { prompt: "a fox" }, { prompt: "a hen", output: "b/hen.png" });
    const args = ["batch", "p.jsonl", ...TWO_CREDITS];
    await world.run([...args, "-o", "out", "--timeout", "50ms"]);
    await rename(path.join(world.cwd, "out"), path.join(world.cwd, "new"));
    done = true;
    expect((await world.run([...args, "-o", "new"])).code).toBe(0);
    expect(await readdir(world.cwd)).not.toContain("out");
    expect(await imagesIn(path.join(world.cwd, "new"))).toEqual(["a-fox-taskafox.png", "b", "b/hen.png"]);
    expect(world.server.submits()).toHaveLength(2);
  });

  it("is known by the folder's latest path where the folder is emptied or deleted", async () => {
    const { world, at } = await savedBatch();
    await rename(at("out"), at("new"));
    await world.run(batchInto("new"));
    for (const again of [false, true]) {
      await rm(at("new"), { recursive: true });
      if (again) await mkdir(at("new"));
      const { summary } = await world.batchJson(batchInto("new").slice(1));
      expect(summary).toMatchObject({ saved: 3, credits: 0 });
    }
    expect(world.server.submits()).toHaveLength(3);
  });

  it("is known by its path alone where it was begun before folders had ids, and gets one", async () => {
    const { world, at } = await savedBatch();
    await rm(path.join(at("out"), ID_FILE));
    await rm(path.join(world.home, "state/tasks/folders"), { recursive: true });
    expect((await world.batchJson(batchInto("out").slice(1))).summary).toMatchObject({ skipped: 3 });
    await rename(at("out"), at("new"));
    expect((await world.batchJson(batchInto("new").slice(1))).summary).toMatchObject({ skipped: 3 });
    expect(world.server.submits()).toHaveLength(3);
  });
});

describe("a folder whose id this ledger does not know", () => {
  /** A folder that another home has filled, and the home that comes to it next. */
  async function foreign() {
    const { world, at } = await savedBatch();
    const home = path.join(world.cwd, "..", "other-home");
    await mkdir(home);
    const run = (flags: string[], options = {}) =>
      world.run(batchInto("out", ...flags), { home, ...options });
    return { world, at, home, run };
  }

  it.each([
    ["y\n", 0, 6],
    ["n\n", 2, 3],
  ])("is asked about at a terminal: %j", async (typed, exit, submits) => {
    const { world, run } = await foreign();
    const { code, stderr } = await run([], { terminal: true, env: terminalOf(world), typed });
    expect([code, world.server.submits().length]).toEqual([exit, submits]);
    expect(stderr).toContain("Submit all 3 rows? [y/N] ");
  });

  it("is refused where the id cannot be read: it is not known which batch it is", async () => {
    const { world, at } = await savedBatch();
    const file = path.join(at("out"), ID_FILE);
    for (const damage of ["", "scribble\n", "../../../x\n"]) {
      await writeFile(file, damage);
      const { code, document } = await world.json(batchInto("out", "--yes"));
      expect([code, document.error?.type, document.charged]).toEqual([2, "usage", "no"]);
      expect(String(document.error?.message)).toContain(file);
    }
    await rm(file);
    await mkdir(file);
    expect((await world.run(batchInto("out"))).code).toBe(2);
    expect(world.server.submits()).toHaveLength(3);
  });
});

function terminalOf({ server }: BatchWorld): Record<string, string> {
  return { TERM: "dumb", IMGGEN_BASE_URL: server.baseUrl };
}
