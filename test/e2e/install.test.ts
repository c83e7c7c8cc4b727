import { execFile, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { accepts } from "../support/batch-world.ts";
import { CANARY } from "../support/canary.ts";
import { PICTURE } from "../support/images.ts";
import { listenForTest, liveService } from "../support/live-server.ts";
import { packedInto } from "../support/packed.ts";
import { BIN, finished } from "../support/program.ts";
import { completedAt } from "../support/scripts.ts";
import { QUICK } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { hasTool } from "../support/tools.ts";

const run = promisify(execFile);

let shared = "";
/** The tarball that would be published, and the same as the next release. */
let [tarball, next] = ["", ""];

beforeAll(async () => {
  shared = await mkdtemp(path.join(tmpdir(), "imggen-test-"));
  tarball = await packedInto(shared);
  next = path.join(shared, "next.tgz");
  await run("tar", ["xzf", tarball], { cwd: shared });
  const manifest = path.join(shared, "package/package.json");
  await writeFile(
    manifest,
    (await readFile(manifest, "utf8")).replace(/"version": ".*"/, '"version": "99.0.0"'),
  );
  await run("tar", ["czf", next, "package"], { cwd: shared });
});

/** The next release, as its tarball unpacks. */
const nextRelease = () => path.join(shared, "package/bin/imggen.cjs");

afterAll(() => rm(shared, { recursive: true, force: true }));

/** A prefix and a home that nothing has been in yet. */
async function freshMachine() {
  const folder = await temporaryFolder();
  const [prefix, home] = [path.join(folder, "prefix"), path.join(folder, "home")];
  await mkdir(home);
  const env = { PATH: process.env.PATH, HOME: home, npm_config_cache: path.join(folder, "cache") };
  const npm = (...args: string[]) =>
    run("npm", [...args, "--global", "--prefix", prefix], { env, cwd: home });
  const install = (file: string) => npm("install", "--omit=optional", "--offline", file);
  const bin = path.join(prefix, "bin/imggen");
  const imggen = (...args: string[]) => run(process.execPath, [bin, ...args], { env, cwd: home });
  return { prefix, home, env, npm, install, bin, imggen };
}

it("the tarball installs without a warning, with its manual page and completions", async () => {
  const { prefix, env, install, imggen } = await freshMachine();
  const { stdout, stderr } = await install(tarball);
  expect({ stderr, stdout }).toEqual({
    stderr: "",
    stdout: expect.stringMatching(/^\nadded 1 package in .*\n$/),
  });
  expect((await imggen("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const installed = path.join(prefix, "lib/node_modules/imggen");
  expect((await readdir(path.join(installed, "dist/completions"))).sort()).toEqual([
    "_imggen",
    "imggen.bash",
    "imggen.fish",
    "imggen.ps1",
  ]);
  const page = path.join(prefix, "share/man/man1/imggen.1");
  expect(await readFile(page, "utf8")).toMatch(/^\.TH IMGGEN 1/m);
  if (!hasTool("man")) return;
  const { stdout: found } = await run("man", ["-w", "imggen"], {
    env: { ...env, MANPATH: path.join(prefix, "share/man") },
  });
  expect(found.trim()).toBe(await realpath(page));
});

it("npm installs it from a registry, and npx runs it", async () => {
  const { home, env, prefix, imggen } = await freshMachine();
  const registry = await registryWith(tarball);
  const flags = ["--registry", registry, "--omit=optional", "--yes"];
  const installed = await run("npm", ["install", "--global", "--prefix", prefix, ...flags, "imggen"], {
    env,
    cwd: home,
  });
  expect(installed.stderr).toBe("");
  const { stdout: version } = await imggen("--version");
  const ran = await run("npx", [...flags, "imggen", "--version"], { env, cwd: home });
  expect(ran).toEqual({ stdout: version, stderr: "" });
});

it("two installs of different releases share one ledger", async () => {
  const { env, home } = await freshMachine();
  const imggen = (release: string, ...args: string[]) =>
    run(process.execPath, [release, ...args], { env, cwd: home });
  const { stdout } = await imggen(BIN, "generate", "a fox", ...QUICK, "--sandbox", "--json");
  const history = await imggen(nextRelease(), "history", "--sandbox", "--json");
  const { taskId } = JSON.parse(stdout);
  expect(JSON.parse(history.stdout)).toMatchObject([{ taskId, status: "completed", charged: "no" }]);
});

it.each([
  ["an upgrade", async ({ install }: Machine) => void (await install(next))],
  ["an uninstall", async ({ npm }: Machine) => void (await npm("uninstall", "imggen"))],
])(
  "%s under a running batch loses nothing: what it leaves is finished by the next release",
  async (_what, change) => {
    const machine = await freshMachine();
    await machine.install(tarball);
    const { home, bin } = machine;
    const service = await serviceThatWaits();
    const env = { ...machine.env, IMGGEN_API_KEY: CANARY, IMGGEN_BASE_URL: service.server.baseUrl };
    await writeFile(path.join(home, "prompts.txt"), "a fox\na hare\nan owl\nan elk\n");
    const args = ["batch", "prompts.txt", "--yes", "--concurrency", "2", "--output", "out/", ...QUICK];
    const ended = finished(spawn(process.execPath, [bin, ...args], { env, cwd: home, stdio: "pipe" }));
    await service.polled;
    await change(machine);
    service.goOn();
    const { code, stderr } = await ended;
    if (code !== 0) await run(process.execPath, [nextRelease(), ...args], { env, cwd: home });
    const images = (await readdir(path.join(home, "out"))).filter((name) => name.endsWith(".png"));
    expect(images, stderr).toHaveLength(4);
    expect(service.server.submits()).toHaveLength(4);
  },
);

type Machine = Awaited<ReturnType<typeof freshMachine>>;

/** A service that answers no poll until it is to go on. */
async function serviceThatWaits() {
  const moments = new EventEmitter();
  const [polled, gone] = [once(moments, "poll"), once(moments, "go on")];
  const server = await liveService(PICTURE, {
    submit: accepts,
    poll: async (request, socket) => {
      moments.emit("poll");
      await gone;
      await completedAt("/1.png")(request, socket);
    },
  });
  return { server, polled, goOn: () => moments.emit("go on") };
}

/** A registry on loopback that has one package. Resolves with its address. */
async function registryWith(file: string): Promise<string> {
  const data = await readFile(file);
  const { stdout } = await run("tar", ["xOzf", file, "package/package.json"]);
  const manifest = JSON.parse(stdout);
  const server = createServer((request, response) => {
    const dist = { tarball: `http://${request.headers.host}/imggen.tgz` };
    const versions = { [manifest.version]: { ...manifest, dist } };
    const about = { name: "imggen", "dist-tags": { latest: manifest.version }, versions };
    const files: Record<string, string | Buffer> = { "/imggen": JSON.stringify(about), "/imggen.tgz": data };
    const file = files[request.url ?? ""];
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  return `http://127.0.0.1:${await listenForTest(server)}`;
}
