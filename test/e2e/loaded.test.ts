import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { deadPort, liveService } from "../support/live-server.ts";
import { runProgram } from "../support/program.ts";
import { QUICK } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const GENERATE = ["generate", "a fox", "--model", "gamma-image-2"];

it.each([
  ["--version", ["--version"], 2],
  ["--help", ["--help"], 2],
  ["a dry run", [...GENERATE, "--dry-run"], 5],
  ["a list of models", ["models", "--json"], 5],
  ["a submit", [...GENERATE, "--no-wait"], 6, ["http", "crypto", "assert"]],
  [
    "a batch",
    ["batch", "prompts.txt", "--yes", ...QUICK],
    26,
    ["http", "http2", "tls", "crypto", "assert", "internal/fs/promises"],
  ],
  ["completion of a flag", ["__complete", "=--m", "generate"], 4],
  ["completion of a ratio", ["__complete", "=", "generate", "-m", "z-image", "-r"], 6],
  ["completion of a task", ["__complete", "=", "status"], 8, ["http", "crypto"]],
])("%s loads few files, and of Node no more than it needs", async (_what, args, most, needed = [""]) => {
  const server = await liveService(PICTURE);
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, "prompts.txt"), "a fox\n");
  const { code, texts, builtins } = await loaded(args, { folder, origin: server.origin });
  expect(code).toBe(0);
  expect(texts.length).toBeLessThanOrEqual(most);
  // Node takes longer to make one than to start the program.
  expect(texts.filter((text) => text.includes("Intl.Segmenter"))).toEqual([]);
  const costly = ["http", "crypto", "http2", "tls", "assert", "child_process", "internal/fs/promises"];
  expect(costly.filter((name) => !needed.includes(name) && builtins.includes(name))).toEqual([]);
});

it("help in a pipe, which the build writes, is what the parser would lay out", async () => {
  const [written, laidOut] = [await runProgram(["--help"]), await runProgram(["--help", "--no-color"])];
  expect(written).toMatchObject({ code: 0, stdout: laidOut.stdout, stderr: "" });
  expect(written.stdout).toContain("Usage: imggen [options] [command]\n");
});

it("a submit loads what saves before it is sent, and what polls only after that", async () => {
  const server = await liveService(PICTURE);
  const unreachable = `http://127.0.0.1:${await deadPort()}`;
  const loadsIt = async (origin: string) => {
    const folder = await temporaryFolder();
    const { code, texts } = await loaded([...GENERATE, ...QUICK], { folder, origin });
    const loads = (mark: string) => texts.some((text) => text.includes(mark));
    return { code, polls: loads("undici:client:sendHeaders"), saves: loads("damaged at byte") };
  };
  expect(await loadsIt(server.origin)).toEqual({ code: 0, polls: true, saves: true });
  expect(await loadsIt(unreachable)).toEqual({ code: 7, polls: false, saves: true });
});

/** A text that each library is known by, in its minified form too. */
const MARKS = { undici: "UND_ERR_", zod: "invalid_union", conf: "__internal__", ora: "[?25" };

it.each(["--version", "--help", "models", "models --json"])(
  "imggen %s loads no HTTP client, schemas, settings store or spinner",
  async (line) => {
    const dist = path.resolve(import.meta.dirname, "../../dist");
    const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".cjs"));
    const all = await textsOf(names.map((name) => path.join(dist, name)));
    const folder = await temporaryFolder();
    const { texts } = await loaded(line.split(" "), { folder, origin: "http://127.0.0.1:1" });
    const librariesIn = (code: string[]) =>
      Object.entries(MARKS).flatMap(([name, mark]) => (code.join("").includes(mark) ? [name] : []));
    expect(librariesIn(all)).toEqual(Object.keys(MARKS));
    expect(librariesIn(texts)).toEqual([]);
  },
);

const textsOf = (files: string[]) => Promise.all(files.map((file) => readFile(file, "utf8")));

/** What a run of the program loads: the texts of its own files, and the names of Node's modules. */
async function loaded(args: string[], { folder, origin }: { folder: string; origin: string }) {
  const env = {
    NODE_OPTIONS: `--require ${fileURLToPath(new URL("../support/loaded.cjs", import.meta.url))}`,
    IMGGEN_TEST_LOADED: path.join(folder, "loaded"),
    IMGGEN_HOME: folder,
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `${origin}/api`,
  };
  const { code } = await runProgram(args, { env, cwd: folder });
  const { files, builtins } = JSON.parse(await readFile(env.IMGGEN_TEST_LOADED, "utf8"));
  return { code, texts: await textsOf(files), builtins };
}
