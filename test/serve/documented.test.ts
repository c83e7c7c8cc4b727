import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { png } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { scriptedProvider } from "./provider-script.ts";
import { liveServer } from "./serve-world.ts";

const PAGE = readFileSync(path.resolve(import.meta.dirname, "../../.github/docs/serve.md"), "utf8");
const COMMANDS = [...PAGE.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = ""]) => text);

it("the commands on the page about serve do what it says, as they stand", async () => {
  const provider = scriptedProvider();
  const { baseUrl, apiKey } = await liveServer({ provider, models: async () => ["sdxl"] });
  const cwd = await temporaryFolder();
  const env = { PATH: process.env.PATH, IMGGEN_BASE_URL: baseUrl, IMGGEN_API_KEY: apiKey };
  const script = ["set -euo pipefail", ...COMMANDS].join("\n");
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd, env });
  const imageIn = async (name: string) => {
    const { data } = JSON.parse(await readFile(path.join(cwd, name), "utf8"));
    return Buffer.from(data[0].b64_json, "base64");
  };
  expect(COMMANDS).toHaveLength(6);
  expect((await readFile(path.join(cwd, "fox.png"))).equals(png())).toBe(true);
  expect((await imageIn("openai.json")).equals(png())).toBe(true);
  expect((await imageIn("edited.json")).equals(png())).toBe(true);
  expect(stdout).toContain('"id":"sdxl"');
  expect(provider.jobs.map(({ request: { ratio }, references }) => [ratio, references.length])).toEqual([
    ["3:2", 0],
    ["3:2", 0],
    [undefined, 1],
  ]);
});
