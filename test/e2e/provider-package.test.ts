import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { clientOf } from "../sandbox/live.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { finished } from "../support/program.ts";
import { type ProgramWorld, programWorld } from "../support/program-world.ts";
import { json } from "../support/scripted-server.ts";
import { words } from "../support/words.ts";
import { servedBy } from "./image-server.ts";

/** Installs a package of one ES module for a world's programs. */
async function installed({ home }: ProgramWorld, code: string): Promise<void> {
  const folder = path.join(home, "config/providers/node_modules/fox");
  await mkdir(folder, { recursive: true });
  const manifest = { name: "fox", version: "1.0.0", type: "module", exports: { import: "./index.js" } };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  await writeFile(path.join(folder, "index.js"), code);
}

const image = PICTURE.toString("base64");

it("what a package prints by any way of Node's is on standard error alone", async () => {
  const world = await programWorld(null);
  const { origin } = await liveServer((_request, socket) => void socket.end(json({ image })));
  await installed(
    world,
    `import fs, { writeSync } from "node:fs";
    import { execSync, spawn, spawnSync } from "node:child_process";
    import { once } from "node:events";
    console.log("loaded");
    const print = async (when) => {
      writeSync(1, when + " writeSync\\n");
      fs.writeFileSync(1, when + " writeFileSync\\n");
      fs.writevSync(1, [Buffer.from(when + " writevSync\\n")]);
      await new Promise((resolve) => fs.write(1, when + " write\\n", resolve));
      process.stdout.write(when + " stdout\\n");
      execSync("echo " + when + " execSync", { stdio: "inherit" });
      spawnSync("echo", [when + " spawnSync"], { stdio: ["ignore", 1, 2] });
      await once(spawn("echo", [when + " spawn"], { stdio: "inherit" }), "exit");
    };
    await print("load");
    export default {
      version: 1, title: "Fox", url: ${JSON.stringify(origin)},
      create: () => ({
        async request({ prompt }) { await print("request"); return { path: "/draw", body: { prompt } }; },
        read: ({ image }) => { console.info("read"); return { base64: image }; },
      }),
    };`,
  );
  const program = world.start(world.generateArgs(["--generator", "npm:fox"]));
  const { code, stdout, stderr } = await finished(program);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  const ways = words("writeSync writeFileSync writevSync write stdout execSync spawnSync spawn");
  const printed = ["load", "request"].flatMap((when) => ways.map((way) => `${when} ${way}`));
  expect(stderr.split("\n")).toEqual(expect.arrayContaining(["loaded", "read", ...printed]));
});

it("a server outlives the ends of its package: each is the failure of its task, and the next task has its image", async () => {
  const world = await programWorld(null);
  const { origin } = await liveServer((_request, socket) => void socket.end(json({ image })));
  await installed(
    world,
    `const ends = {
      exit: () => process.exit(7),
      timer: () => setTimeout(() => { throw new Error("boom"); }),
      rejection: () => void Promise.reject(new Error("boom")),
    };
    export default {
      version: 1, title: "Fox", url: ${JSON.stringify(origin)},
      create: () => ({
        request({ prompt }) {
          const end = ends[prompt];
          if (!end) return { path: "/draw", body: { prompt } };
          end();
          return new Promise(() => {});
        },
        read: ({ image }) => ({ base64: image }),
      }),
    };`,
  );
  const server = await servedBy(world, ["serve", "--generator", "npm:fox"]);
  const { accepted, poll } = clientOf(server.baseUrl, server.apiKey);
  const ended = async (prompt: string) => {
    const taskId = await accepted({ prompt });
    await expect
      .poll(async () => (await poll(taskId)).body.data?.status, { timeout: 20_000 })
      .toMatch(/^(?:completed|failed)$/);
    return JSON.stringify((await poll(taskId)).body.data);
  };
  for (const prompt of ["exit", "timer", "rejection"]) {
    expect(await ended(prompt)).toMatch(/"failed".*the package fox was stopped: /);
    expect(await ended("a hare")).toContain('"completed"');
  }
});
