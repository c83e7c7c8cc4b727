import { execFile } from "node:child_process";
import { cp, readdir, symlink } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { accepts } from "../support/batch-world.ts";
import { CANARY } from "../support/canary.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { ROOT } from "../support/program.ts";
import { late } from "../support/scripts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs a module's text in a process of its own. @returns what it prints, as JSON */
async function run(script: string, facts: object): Promise<unknown> {
  const args = ["--input-type=module", "--eval", script, JSON.stringify(facts)];
  const env = { PATH: process.env.PATH };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout);
}

/** Runs a batch, and the same batch beside it while its submits are in flight. Prints how the rows of each ended. */
const TWICE = `
import { Worker } from "node:worker_threads";
const { first, second, home, otherHome, thread, ...options } = JSON.parse(process.argv[1]);
const run = async ({ copy, home, baseUrl, apiKey, output }, onProgress) => {
  const { createClient } = await import(copy + "/dist/index.js");
  const imggen = createClient({ home, baseUrl, apiKey });
  const ends = [];
  const batch = { output, yes: true, resubmitUnknown: true, pollIntervalMs: 100, onProgress };
  for await (const row of imggen.batch([{ prompt: "a fox" }, { prompt: "an owl" }], batch))
    ends.push(row.ok ? "saved" : row.error.type);
  await imggen.close();
  return ends;
};
const inThread = (facts) => new Promise((resolve, reject) => {
  const text = "const run = " + run + "; run(" + JSON.stringify(facts) +
    ").then(async (ends) => (await import('node:worker_threads')).parentPort.postMessage(ends))";
  new Worker(text, { eval: true }).once("message", resolve).once("error", reject);
});
let submitting = 0, beside;
const ends = await run({ copy: first, home, ...options }, ({ type }) => {
  if (type === "submitting" && ++submitting === 2)
    beside = new Promise((resolve) => setTimeout(resolve, 300)).then(() =>
      (thread ? inThread : run)({ copy: second, home: otherHome, ...options }));
});
console.log(JSON.stringify([ends, await beside]));
`;

it.each(["another name of its home", "a worker thread", "a second copy of the package"])(
  "a batch beside itself in one process, through %s: no row is submitted twice, nor called unknown",
  async (through) => {
    const server = await liveService(PICTURE, { submit: late(2_000, accepts) });
    const folder = await temporaryFolder();
    const [home, output] = [path.join(folder, "home"), path.join(folder, "out")];
    const [otherHome, copy] = [path.join(folder, "link"), path.join(folder, "copy")];
    await symlink(home, otherHome);
    for (const part of ["dist", "package.json"])
      await cp(path.join(ROOT, part), path.join(copy, part), { recursive: true });
    const [first, second] = (await run(TWICE, {
      first: ROOT,
      second: through.includes("copy") ? copy : ROOT,
      home,
      otherHome: through.includes("name") ? otherHome : home,
      thread: through.includes("thread"),
      baseUrl: server.baseUrl,
      apiKey: CANARY,
      output,
    })) as string[][];
    expect(server.submits()).toHaveLength(2);
    expect(first).toEqual(["saved", "saved"]);
    expect(second).not.toContain("outcome_unknown");
    expect((await readdir(output)).filter((name) => name.endsWith(".png"))).toHaveLength(2);
  },
);
