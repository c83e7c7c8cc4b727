import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { NOTHING_CHARGED, serviceWorld } from "../support/program-world.ts";
import type { ScriptedServer } from "../support/scripted-server.ts";

const REFUSED = { ...NOTHING_CHARGED, exit: 2 };

it('a prompt of " " is empty: exit 2, nothing sent', async () => {
  const { world } = await serviceWorld();
  expect(await world.aftermath(await world.run(["generate", " ", "--json"]))).toMatchObject(REFUSED);
});

it.each([
  ["NUL", Buffer.from("a \0 fox"), /NUL/],
  [
    "a lone surrogate, as some programs write it",
    Buffer.from([0x61, 0xed, 0xa0, 0x80, 0x62]),
    /UTF-8.*\b1\b/,
  ],
  ["invalid UTF-8, with its offset", Buffer.from([0x61, 0x20, 0x66, 0xff, 0x78]), /UTF-8.*\b3\b/],
])("%s in a file or on standard input is refused: exit 2, nothing sent", async (_name, bytes, message) => {
  const { world } = await serviceWorld();
  const file = path.join(world.folder, "prompt.txt");
  await writeFile(file, bytes);
  for (const run of [
    await world.run(["generate", "--prompt-file", file, "--json"]),
    await world.run(["generate", "--json"], { input: bytes }),
  ]) {
    expect(await world.aftermath(run)).toMatchObject(REFUSED);
    expect(JSON.parse(run.stdout).error.message).toMatch(message);
  }
});

/** Starts the program with bytes that are not UTF-8 for `$BAD`, which Node cannot hand over itself. */
const bad = (words: string, variables = "") => ({
  through: ["sh", "-c", `BAD="$(printf 'a f\\377x')"; exec env ${variables} "$@" ${words}`, "sh"],
});
const LINUX = existsSync("/proc/self/cmdline");

it.skipIf(!LINUX).each([
  ["a prompt", '"$BAD"', ""],
  ["--negative", 'fox --negative "$BAD"', ""],
  ["--field", 'fox --field "style=$BAD"', ""],
  ["--output", 'fox --output "$BAD/"', ""],
  ["--name", 'fox --name="$BAD"', ""],
  ["a variable", "fox", 'IMGGEN_MODEL="$BAD"'],
])("invalid UTF-8 in %s is refused: exit 2, nothing sent", async (_what, words, variables) => {
  const { world } = await serviceWorld();
  const run = await world.run(["generate", "--json"], bad(words, variables));
  expect(await world.aftermath(run)).toMatchObject({ ...REFUSED, type: "usage" });
  expect(JSON.parse(run.stdout).error.message).toMatch(
    /^The (argument ".*"|value of \w+) is not valid UTF-8\.$/,
  );
});

it.skipIf(!LINUX)("invalid UTF-8 in an argument of batch is refused: exit 2, nothing sent", async () => {
  const { world } = await serviceWorld();
  const args = ["batch", await world.manifest(["a fox"]), "--yes", "--json"];
  const run = await world.run(args, bad('--template "$BAD {prompt}"'));
  expect(await world.aftermath(run)).toMatchObject({ ...REFUSED, type: "usage" });
});

it.skipIf(!LINUX)("U+FFFD as a character of the prompt is sent", async () => {
  const { server, world } = await serviceWorld();
  const args = ["generate", "-o", `${world.out}/`, "--json", "a \ufffd fox"];
  const run = await world.run(args, { through: ["env"] });
  expect(await world.aftermath(run)).toMatchObject({ exit: 0, submits: 1 });
  expect(sent(server)).toMatchObject({ prompt: "a \ufffd fox" });
});

it.skipIf(!LINUX)(
  "U+FFFD is refused if the system does not show the bytes: exit 2, nothing sent",
  async () => {
    const { world } = await serviceWorld();
    const hidden = `data:text/javascript,${encodeURIComponent(`
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { readFileSync } = fs;
    fs.readFileSync = (file, ...rest) => {
      if (String(file).startsWith("/proc/self/")) throw Object.assign(new Error("no /proc"), { code: "ENOENT" });
      return readFileSync(file, ...rest);
    };
    syncBuiltinESMExports();
  `)}`;
    const run = await world.run(["generate", "a \ufffd fox", "--json"], {
      env: { NODE_OPTIONS: `--import ${hidden}` },
    });
    expect(await world.aftermath(run)).toMatchObject({ ...REFUSED, type: "usage" });
  },
);

it("a prompt that begins with - goes after --, and is sent as it is", async () => {
  const { server, world } = await serviceWorld();
  const run = await world.run(["generate", "-o", `${world.out}/`, "--json", "--", "--help me, a fox"]);
  expect(await world.aftermath(run)).toMatchObject({ exit: 0, submits: 1 });
  expect(sent(server)).toEqual({ prompt: "--help me, a fox", model: "vendor1/alpha-2" });
});

it("flags after -- are words of the prompt, --json too", async () => {
  const { world } = await serviceWorld();
  const run = await world.run(["generate", "--dry-run", "--", "--json"]);
  expect(run.code).toBe(0);
  expect(run.stdout).toContain('"prompt": "--json"');
  expect(() => JSON.parse(run.stdout)).toThrow();
});

it.each(["NaN", "1e9"])("%s for a number is refused", async (text) => {
  const { world } = await serviceWorld();
  const flags = ["--max-images", "--max-credits", "--timeout", "--poll-interval", "--request-timeout"];
  for (const flag of flags) {
    const run = await world.run(["generate", "a fox", "-m", "vendor2/beta-v4", "--json", `${flag}=${text}`]);
    expect(await world.aftermath(run), flag).toMatchObject({ ...REFUSED, type: "usage" });
  }
});

it("prompt length counts code points: 1000 emoji pass with a warning, 1001 are refused", async () => {
  const { world } = await serviceWorld();
  const fits = await world.generate(["-m", "z-image"], {});
  expect(fits.code).toBe(0);
  const warned = await world.run(["generate", "-", "-m", "z-image", "--json", "-o", `${world.out}/`], {
    input: "🦊".repeat(1000),
  });
  expect(await world.aftermath(warned)).toMatchObject({ exit: 0, submits: 2 });
  expect(JSON.parse(warned.stdout).warnings.join()).toContain("2000");
  const refused = await world.run(["generate", "-", "-m", "z-image", "--json"], { input: "🦊".repeat(1001) });
  expect(await world.aftermath(refused)).toMatchObject({ exit: 2, type: "invalid_request", submits: 2 });
});

it("a prompt of megabytes is refused, not read to the end", async () => {
  const { world } = await serviceWorld();
  const run = await world.run(["generate", "-", "--json"], { input: Buffer.alloc(3 * 1024 * 1024, "a") });
  expect(await world.aftermath(run)).toMatchObject({ ...REFUSED, type: "usage" });
});

it("a manifest on standard input that is one line of 400 MB is refused in less than 400 MB of memory", async () => {
  const { world } = await serviceWorld();
  const hook = fileURLToPath(new URL("../bench/peak-memory.cjs", import.meta.url));
  const peak = path.join(world.folder, "peak");
  const run = await world.run(["batch", "-", "--json"], {
    env: { NODE_OPTIONS: `--require ${hook}`, IMGGEN_BENCH_PEAK: peak },
    through: ["sh", "-c", 'head -c 400000000 /dev/zero | tr "\\0" a | "$@"', "sh"],
  });
  expect(await world.aftermath(run)).toMatchObject({ ...REFUSED, type: "invalid_request" });
  expect(JSON.parse(run.stdout).error.message).toContain("longer than 256 MiB");
  expect(Number(await readFile(peak, "utf8"))).toBeLessThan(400 * 1024);
});

function sent(server: ScriptedServer): { prompt: string; [field: string]: unknown } {
  return JSON.parse(server.submits()[0]?.body ?? "");
}
