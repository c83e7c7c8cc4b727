import { chmod, readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { filesWithKey } from "../support/canary.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer, liveService } from "../support/live-server.ts";
import {
  CANARY,
  type ProgramWorld,
  programWorld,
  SAVED,
  serviceWorld,
  UNKNOWN,
} from "../support/program-world.ts";
import { failure, response, success } from "../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning, taskIs } from "../support/scripts.ts";
import { settingsFile, storedSettings, withConfig } from "../support/settings-file.ts";
import { QUICK } from "../support/shell.ts";

const SIGNED = "/1.png?signature=s3cret-signature";

async function worldWithConfig(text: string, baseUrl?: string) {
  const world = await programWorld(null, { IMGGEN_API_KEY: undefined, IMGGEN_BASE_URL: baseUrl });
  const file = await withConfig(world, text);
  return { world, folder: path.dirname(file), file };
}

it("settings that others could read are narrowed when they are read", async () => {
  const { world, folder, file } = await worldWithConfig(JSON.stringify({ apiKey: CANARY }));
  await chmod(folder, 0o755);
  await chmod(file, 0o644);
  expect((await world.run(["config", "get", "apiKey"])).code).toBe(0);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

it("login stores the key so that only its owner can read it, whatever the umask", async () => {
  const world = await programWorld(null, { IMGGEN_API_KEY: undefined });
  const run = await world.run(["login", "--no-verify", "--base-url", "https://service.example/api"], {
    input: CANARY,
    through: ["sh", "-c", 'umask 000; exec "$@"', "sh"],
  });
  expect(run.code).toBe(0);
  const file = settingsFile(world);
  expect(await storedSettings(world)).toMatchObject({ apiKey: CANARY });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  expect(world.leaks(run)).toEqual([]);
});

const KILLED_LOGINS = [
  ["before the settings are replaced", "renameSync", ".tmp-"],
  ["while it proves that there is room", "unlinkSync", ".probe"],
] as const;

/** A home whose login was killed at an operation on a file, so that something is left beside the settings. */
async function withKilledLogin(operation: string, match: string) {
  const world = await programWorld(null, { IMGGEN_API_KEY: undefined });
  const folder = path.join(world.home, "config");
  const hook = fileURLToPath(new URL("../support/kill-at.cjs", import.meta.url));
  const login = (env: Record<string, string> = {}) =>
    world.run(["login", "--no-verify", "--base-url", "https://service.example/api"], { input: CANARY, env });
  const killAt = {
    NODE_OPTIONS: `--require ${hook}`,
    IMGGEN_TEST_KILL_AT: JSON.stringify({ operation, match }),
  };
  expect((await login(killAt)).signal).toBe("SIGKILL");
  return { world, folder, login };
}

/** The ticket of a killed process says who had the settings' turn, and is removed after a day. */
const withoutTickets = (names: string[]) => names.filter((name) => !/^config\.\.[0-9a-f]{8}$/.test(name));

it.each(KILLED_LOGINS)(
  "a login that is killed %s: logout leaves the key nowhere",
  async (_name, operation, match) => {
    const { world, folder } = await withKilledLogin(operation, match);
    expect((await readdir(folder)).length).toBeGreaterThan(1);
    expect((await world.run(["logout"])).code).toBe(0);
    expect(withoutTickets(await readdir(folder)).filter((name) => name !== "config.json")).toEqual([]);
    expect(filesWithKey(world.folder)).toEqual([]);
  },
);

it.each(KILLED_LOGINS)(
  "a login that is killed %s: the next login leaves nothing beside the settings",
  async (_name, operation, match) => {
    const { folder, login } = await withKilledLogin(operation, match);
    expect((await login()).code).toBe(0);
    expect(withoutTickets(await readdir(folder))).toEqual(["config.json"]);
  },
);

it("the file that proves the room for the settings never holds the key", async () => {
  const { world, folder } = await withKilledLogin("unlinkSync", ".probe");
  expect((await readdir(folder)).join(" ")).toContain(".probe");
  expect(filesWithKey(world.folder)).toEqual([]);
});

it("corrupt settings (not JSON) are named and kept byte for byte: exit 2", async () => {
  const text = `{"apiKey": "${CANARY}`;
  const { world, file } = await worldWithConfig(text, "https://service.example/api");
  for (const [args, input] of [
    [["generate", "a fox", "--json"], ""],
    [["config", "set", "model", "z-image", "--json"], ""],
    [["login", "--no-verify", "--json"], CANARY],
    [["logout", "--json"], ""],
  ] as const) {
    const run = await world.run(args, { input });
    expect(await world.aftermath(run)).toMatchObject({ exit: 2, charged: "no" });
    expect(JSON.parse(run.stdout).error.message).toContain(file);
    expect(await readFile(file, "utf8")).toBe(text);
  }
});

const ACCOUNT_OF_OLD = "https://service.example/api";

/** What `login` stored at one service, or an earlier release, while `another` one is in effect. */
const OTHER_BASE_URLS: [string, (world: ProgramWorld, another: string) => Promise<string[]>][] = [
  ["a variable", async () => []],
  [
    "a changed setting",
    async (world, another) => {
      await world.run(["config", "set", "baseUrl", another]);
      return [];
    },
  ],
  [
    "a variable, over a profile",
    async (world) => {
      const login = ["login", "--profile", "work", "--base-url", ACCOUNT_OF_OLD, "--no-verify"];
      await world.run(login, { input: CANARY });
      return ["--profile", "work"];
    },
  ],
];

it.each(OTHER_BASE_URLS)(
  "a stored key is not sent to another base URL (%s): exit 2 naming both",
  async (how, choose) => {
    const another = await liveService(PICTURE);
    const config = JSON.stringify({ apiKey: CANARY, baseUrl: ACCOUNT_OF_OLD });
    const { world } = await worldWithConfig(config);
    const flags = await choose(world, another.baseUrl);
    const env = how.startsWith("a variable") ? { IMGGEN_BASE_URL: another.baseUrl } : {};
    const run = (args: string[], more = {}) => world.run([...args, ...flags], { env: { ...env, ...more } });
    for (const args of [
      ["generate", "a fox"],
      ["status", "task_1"],
      ["batch", "-"],
    ]) {
      const { code, stdout } = await world.run([...args, ...flags, "--json"], { env, input: "a fox\n" });
      const { message } = JSON.parse(stdout).error;
      expect([code, message]).toEqual([
        2,
        expect.stringContaining(`belongs to ${ACCOUNT_OF_OLD}, and ${another.baseUrl}`),
      ]);
    }
    expect((await run(["doctor"])).stdout).toMatch(/key +The stored API key belongs to/);
    expect(another.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    const { code } = await run(["generate", "a fox", ...QUICK, "-o", path.join(world.out, "fox.png")], {
      IMGGEN_API_KEY: "sk-of-the-other-service",
    });
    expect([code, another.submits()[0]?.headers.authorization]).toEqual([
      0,
      "Bearer sk-of-the-other-service",
    ]);
  },
);

it("a key that was stored without a base URL is sent nowhere until it has one", async () => {
  const server = await liveService(PICTURE);
  const { world } = await worldWithConfig(JSON.stringify({ apiKey: CANARY }), server.baseUrl);
  expect(await world.generate()).toMatchObject({
    code: 2,
    stdout: expect.stringContaining("imggen login --base-url"),
  });
  expect(server.requests).toEqual([]);
  expect((await world.run(["login"], { input: CANARY })).code).toBe(0);
  expect((await world.generate()).code).toBe(0);
});

it.each([
  ["a line feed", "sk-canary-one\nX-Injected: yes"],
  ["a carriage return", "sk-canary-one\rX-Injected: yes"],
  ["a blank", "sk-canary-one two"],
  ["a tab", "sk-canary-one\ttwo"],
  ["a letter beyond Latin-1", "sk-canary-ключ"],
  ["an escape", "sk-canary-one\u001b[31m"],
  ["no sk- in front", "key-1234"],
  ["nothing after sk-", "sk-"],
])("a key with %s is refused: exit 2, nothing sent, nothing stored", async (_name, key) => {
  const { server, world } = await serviceWorld({}, { IMGGEN_API_KEY: key });
  const run = await world.generate();
  expect(await world.aftermath(run)).toMatchObject({
    exit: 2,
    type: "usage",
    charged: "no",
    open: [],
    done: [],
  });
  expect(server.requests).toEqual([]);
  expect(run.stdout + run.stderr).not.toContain("\u001b");
  if (key === "sk-canary-one two") {
    const login = await world.run(["login", "--json"], { input: key, env: { IMGGEN_API_KEY: undefined } });
    expect(await world.aftermath(login)).toMatchObject({ exit: 2, type: "usage" });
    expect(server.requests).toEqual([]);
  }
});

it("the key and a signed query are in no output, --verbose included, and the ledger holds the query whole", async () => {
  const { server, world } = await serviceWorld({ poll: inTurn(stillRunning, completedAt(SIGNED)) });
  const run = await world.run(["generate", "a fox", ...QUICK, "--verbose", "-o", `${world.out}/`]);
  expect(await world.aftermath(run)).toMatchObject({ exit: 0, files: ["a-fox-task1.png"] });
  expect(run.stderr).toContain("/1.png?…");
  expect(run.stdout + run.stderr).not.toMatch(/s3cret|taskId=|bearer/i);
  expect(JSON.stringify(await world.records("done"))).toContain(`${server.origin}${SIGNED}`);
});

it("a service that echoes the key in its error does not get it shown", async () => {
  const { world } = await serviceWorld({
    submit: (request, socket) => void socket.write(failure(`bad header ${request.headers.authorization}`)),
  });
  const run = await world.generate();
  expect(run.stdout).not.toContain(CANARY);
  expect(run.stderr).not.toContain(CANARY);
});

/** The part of the key that is never shown, in any spelling. */
const SECRET_PART = CANARY.slice(3, -4);
const CAPITALS = CANARY.toUpperCase();
const ENCODED = Array.from(CANARY, (each) => `%${each.charCodeAt(0).toString(16)}`).join("");

/** Where the key turned up, in any letter case or percent-encoded: output, ledger, and requests for files. */
async function tracesOfKey(world: ProgramWorld, run: { stdout: string; stderr: string }): Promise<string[]> {
  const kept = [await world.records("open"), await world.records("done")];
  const files = world.server?.requests.filter(({ target }) => !target.startsWith("/api/")) ?? [];
  const texts = { ...run, ledger: JSON.stringify(kept), requests: JSON.stringify(files) };
  const hides = (text: string) => unescape(text).toLowerCase().includes(SECRET_PART.toLowerCase());
  return Object.entries(texts).flatMap(([name, text]) =>
    typeof text === "string" && hides(text) ? [name] : [],
  );
}

it("a task id with the key in it, in capitals, is no usable id: outcome unknown, the key not stored", async () => {
  const { server, world } = await serviceWorld({ submit: replies(success({ taskId: `task-${CAPITALS}` })) });
  const run = await world.generate(["--verbose"]);
  expect(await world.aftermath(run)).toEqual(UNKNOWN);
  expect(await tracesOfKey(world, run)).toEqual([]);
  expect(server.requests).toHaveLength(1);
  expect(await tracesOfKey(world, await world.resume())).toEqual([]);
});

it.each([
  ["an error key", { submit: replies(failure(`bad.key.${CAPITALS}`)) }],
  ["a status word", { poll: taskIs({ status: CAPITALS, errorCode: 0 }) }],
  ["an error code", { poll: taskIs({ status: "failed", errorCode: CAPITALS }) }],
  ["a poll's error key", { poll: replies(failure(CAPITALS)) }],
  ["a reply that cannot be used", { submit: replies(response(500, `{"echo":"${CAPITALS}`)) }],
])("%s with the key in it is shown and stored without", async (_what, script) => {
  const { world } = await serviceWorld(script);
  const run = await world.generate(["--verbose", "--timeout", "300ms"]);
  expect(run.code).toBeGreaterThan(0);
  expect(world.leaks(run)).toEqual([]);
  expect(await tracesOfKey(world, run)).toEqual([]);
});

it("a result URL with the key in it, percent-encoded, is whole but for the key, everywhere", async () => {
  const { world } = await serviceWorld({ poll: completedAt(`/${ENCODED}/1.png?sig=${ENCODED}&x=1`) });
  const run = await world.generate(["--verbose"]);
  expect(await world.aftermath(run)).toEqual(SAVED);
  expect(await tracesOfKey(world, run)).toEqual([]);
  expect(JSON.stringify(await world.records("done"))).toContain("/sk-…2046/1.png?sig=sk-…2046&x=1");
});

it("a redirect with the key in it does not carry the key to another host", async () => {
  const elsewhere = await liveServer((_request, socket) => void socket.write(response(200, PICTURE)));
  const location = `${elsewhere.origin}/${CANARY}.png?k=${CAPITALS}`;
  const { world } = await serviceWorld({ file: replies(response(302, "", { location })) });
  const run = await world.generate(["--verbose"]);
  expect(await world.aftermath(run)).toEqual(SAVED);
  expect(await tracesOfKey(world, run)).toEqual([]);
  expect(unescape(JSON.stringify(elsewhere.requests)).toLowerCase()).not.toContain(SECRET_PART.toLowerCase());
});

it.each(["http://service.example/api", "http://192.168.1.10/api", "ftp://service.example/api"])(
  "the key is never sent to %s: exit 2",
  async (baseUrl) => {
    const world = await programWorld(null, { IMGGEN_BASE_URL: baseUrl });
    expect(await world.afterGenerate()).toMatchObject({ exit: 2, type: "usage", done: [] });
  },
);
