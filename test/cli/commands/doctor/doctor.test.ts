import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { OLDEST_NODE } from "../../../../src/cli/commands/doctor/installation.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { type CommandWorld, commandWorld, NO_ACCOUNT, TEST_KEY } from "../../../support/command-world.ts";
import type { RunOptions } from "../../../support/in-process.ts";
import { failure, json, response } from "../../../support/scripted-server.ts";
import { replies, reset, stillRunning } from "../../../support/scripts.ts";
import { withConfig } from "../../../support/settings-file.ts";

const UNKNOWN_TASK = failure("image_generation.error.unknown_error");
/** A busy machine needs all of the time that a check has. */
const PATIENT = { clock: systemClock };

interface Checked {
  name: string;
  status: string;
  message: string;
  hint: string | null;
  facts: Record<string, unknown>;
}

/** A world whose service knows no task, as it is asked. */
const healthy = (reply = UNKNOWN_TASK) => commandWorld({ poll: replies(reply) });

/** The document of `imggen doctor --json`, its checks by name. */
async function examined(world: CommandWorld, options: Partial<RunOptions> = {}, flags: string[] = []) {
  const { code, stdout } = await world.run(["doctor", "--json", ...flags], options);
  const document = JSON.parse(stdout);
  const checks: Checked[] = document.checks;
  const check = (name: string) => checks.find((each) => each.name === name);
  return { code, document, checks, check, stdout };
}

/** A profile of the same service. */
const loginToWork = (world: CommandWorld) =>
  world.run(["login", "--profile", "work", "--base-url", world.server.baseUrl, "--no-verify"], {
    input: "sk-work-1234567890\n",
    env: NO_ACCOUNT,
  });

describe("imggen doctor", () => {
  it("finds all well at the cost of one poll, and creates nothing in a fresh home", async () => {
    const world = await healthy();
    const before = await world.listing();
    const { code, document, checks, check } = await examined(world, PATIENT);
    expect([code, document.ok]).toEqual([0, true]);
    expect(new Set(checks.map(({ status }) => status))).toEqual(new Set(["ok", "skipped"]));
    expect(check("key")).toMatchObject({ status: "ok", message: expect.stringContaining("accepted") });
    expect(check("models")?.message).toMatch(/^\d+ models, built in$/);
    expect(world.server.requests.map(({ method, target }) => [method, target])).toEqual([
      ["GET", "/api/generate-image?taskId=imggen-key-check"],
    ]);
    expect(await world.listing()).toEqual(before);
  });

  it("has a line for each check and the next step beside what is wrong, or is a failure's document", async () => {
    const world = await healthy();
    const { code, stdout, stderr } = await world.run(["doctor", "--verbose"], { env: NO_ACCOUNT });
    const { document, checks } = await examined(world, { env: NO_ACCOUNT });
    const lines = stdout.trimEnd().split("\n");
    expect(code).toBe(2);
    expect([lines.pop(), stderr]).toEqual(["2 problems to fix.", ""]);
    expect(lines.map((line) => line.split(/ +/)[1])).toEqual(checks.map(({ name }) => name));
    expect(lines.find((line) => line.includes(" key "))).toMatch(
      /^failed +key +No API key is set\. To store a key: imggen login \(or set IMGGEN_API_KEY\)/,
    );
    expect(document).toMatchObject({
      ok: false,
      error: { type: "usage", message: "Problems must be fixed: service, key.", exitCode: 2 },
      ...{ taskId: null, charged: "no", resume: null },
    });
  });

  it("has a line only for what is news or must be fixed, but in JSON and with --verbose", async () => {
    const rows = async (world: CommandWorld, flags: string[], options: Partial<RunOptions> = PATIENT) => {
      const { stdout } = await world.run(["doctor", ...flags], options);
      const lines = stdout.trimEnd().split("\n");
      return lines.slice(0, -1).map((line) => line.split(/ +/).slice(0, 2).join(" "));
    };
    const world = await healthy();
    expect(await rows(world, [])).toEqual(["ok service", "ok key"]);
    expect(await rows(world, ["--sandbox"])).toEqual([]);
    expect(await rows(world, [], { env: NO_ACCOUNT })).toEqual(["failed service", "failed key"]);
    const busy = await healthy(response(503, "busy"));
    expect(await rows(busy, [])).toEqual(["warning service"]);
    const all = await rows(world, ["--verbose", "--sandbox"]);
    const { checks, stdout } = await examined(world, {}, ["--sandbox"]);
    expect(all).toEqual(checks.map(({ name, status }) => `${status} ${name}`));
    expect(stdout).not.toContain("isNews");
  });

  it("tells on a terminal what it can show, and of a generator that it answers", async () => {
    const world = await healthy();
    const spec = "command:/bin/cat {promptFile} {output}";
    const args = ["doctor", "--generator", spec];
    const options = { ...PATIENT, env: NO_ACCOUNT, terminal: "stdout", columns: 200 } as const;
    const { stdout } = await world.run(args, options);
    expect(stdout).toMatch(
      /^\S+ terminal +200×24, .*\n\S+ service +command:\/bin\/cat .*, free\nNo problems found\.\n$/,
    );
  });

  it("shows a command as it was given, and does not count built-in models beside it", async () => {
    const spec = "command:/bin/cat {promptFile} {output}";
    const { check } = await examined(await healthy(), { ...PATIENT, env: NO_ACCOUNT }, ["--generator", spec]);
    expect(check("service")?.message).toBe(`${spec}, free`);
    expect(check("models")).toMatchObject({
      status: "ok",
      message: "the generator's models, without prices",
    });
  });

  it("needs no service for the embedded sandbox, and starts none", async () => {
    const world = await healthy();
    const { code, check } = await examined(world, { env: NO_ACCOUNT }, ["--sandbox"]);
    expect([code, check("service")?.status, check("key")?.status]).toEqual([0, "ok", "ok"]);
    expect(check("proxy")?.message).toBe("none for the embedded sandbox");
    expect(world.server.requests).toEqual([]);
    expect(await world.listing()).toEqual(["home", "work"]);
  });

  it("says once what is wrong with the settings of a generator, and skips what depends on them", async () => {
    const { code, document, check } = await examined(await healthy(), {}, ["--generator", "command:paint"]);
    expect([code, document.error.message]).toEqual([2, "Problems must be fixed: service."]);
    expect(check("service")?.message).toContain("{output}");
    for (const name of ["models", "key"]) expect(check(name)?.status).toBe("skipped");
  });

  it("says in words what its marks mean where a terminal has no other characters", async () => {
    const env = { ...NO_ACCOUNT, TERM: "linux", NO_COLOR: "1" };
    const { stdout } = await (await healthy()).run(["doctor"], { env, terminal: "stdout", columns: 200 });
    expect(stdout).toMatch(/^ok {6}terminal /m);
    expect(stdout).toMatch(/^failed {2}key /m);
  });
});

it.each([
  ["IMGGEN_API_KEY", "nonsense", "key"],
  ["IMGGEN_BASE_URL", "nonsense", "service"],
  ["HTTPS_PROXY", "ftp://proxy", "proxy"],
  ["IMGGEN_MATRIX", "/nowhere", "models"],
  ["IMGGEN_PROFILE", "../x", "profile"],
])("a wrong %s has a next step", async (variable, value, name) => {
  const { code, check } = await examined(await healthy(), { env: { [variable]: value } });
  expect([code, check(name)?.status]).toEqual([2, "failed"]);
  expect(`${check(name)?.message} ${check(name)?.hint}`).toContain(variable);
  expect(check(name)?.hint).toMatch(/\w/);
});

it.each([
  ["no checks of certificates", { NODE_TLS_REJECT_UNAUTHORIZED: "0" }, "hint", "NODE_EXTRA_CA_CERTS"],
  [
    "certificates that cannot be read",
    { NODE_EXTRA_CA_CERTS: "/nowhere/ca.pem" },
    "message",
    "/nowhere/ca.pem",
  ],
] as const)("%s are a warning, and exit 0", async (_what, env, where, text) => {
  const world = await healthy();
  const { code, document, check } = await examined(world, { env });
  expect([code, document.ok]).toEqual([0, true]);
  expect(check("tls")).toMatchObject({ status: "warning", [where]: expect.stringContaining(text) });
  expect((await world.run(["doctor"], { env })).stdout).toMatch(/\n1 warning\.\n$/);
});

it.each([
  ["a service in trouble", response(503, "busy"), 0, "warning", /answers HTTP 503\.$/],
  ["too many requests", response(429, ""), 0, "warning", /answers HTTP 429\.$/],
  ["a login page", response(200, "<html>Welcome</html>"), 2, "failed", /not the service.s API.*HTML page/],
  ["another server", response(404, "not found"), 2, "failed", /not the service.s API.*HTTP 404/],
  ["a redirect", response(301, "", { location: "/" }), 2, "failed", /not the service.s API.*HTTP 301/],
  ["a firewall", response(403, "<html>no</html>"), 2, "failed", /not the service.s API.*HTTP 403/],
  ["a JSON API", json({ message: "no" }, 403), 2, "failed", /\(HTTP 403, {"message":"no"}\)\.$/],
  ["a refusal without a reason", response(401, ""), 2, "failed", /\(HTTP 401, an empty reply\)/],
  ["a success for any task", json({ code: 0, message: "ok" }), 2, "failed", /not the service.s API/],
])("in place of the service, %s", async (_what, reply, code, status, message) => {
  const result = await examined(await healthy(reply));
  expect([result.code, result.check("service")?.status]).toEqual([code, status]);
  expect(result.check("service")?.message).toMatch(message);
  expect(result.check("key")?.status).toBe("skipped");
});

describe("the key", () => {
  it.each([200, 401])("that is answered with login_required and HTTP %i is refused", async (status) => {
    const { code, check } = await examined(await healthy(failure("login_required", status)));
    expect(code).toBe(2);
    expect(check("key")).toMatchObject({
      status: "failed",
      message: expect.stringMatching(/^The service refused sk-….{4} \(IMGGEN_API_KEY\)\.$/),
      hint: "Set IMGGEN_API_KEY to a key that works, or unset it.",
    });
    expect(check("service")?.status).toBe("ok");
  });

  it("from the settings is replaced by login", async () => {
    const world = await healthy(failure("login_required"));
    await withConfig(world, { apiKey: TEST_KEY, baseUrl: world.server.baseUrl });
    const { check } = await examined(world, { env: { IMGGEN_API_KEY: undefined } });
    expect(check("key")?.hint).toBe("Store a key that works: imggen login");
    await loginToWork(world);
    const work = await examined(world, { env: NO_ACCOUNT }, ["--profile", "work"]);
    expect(work.check("key")?.hint).toBe("Store a key that works: imggen login --profile work");
  });

  it("that is missing or cannot be one is never sent, and the service is still asked", async () => {
    for (const key of [undefined, "nonsense", "sk-\u{1f98a}"]) {
      const world = await healthy(failure("login_required"));
      const { code, check } = await examined(world, { env: { IMGGEN_API_KEY: key } });
      expect([code, check("key")?.status, check("service")?.status]).toEqual([2, "failed", "ok"]);
      expect(world.server.requests[0]?.headers).not.toHaveProperty("authorization");
    }
  });
});

it.each([
  [-30_000, "ok", /./],
  [600_000, "warning", /^This machine's clock is (10 min|9 min 59 s) behind the service's\.$/],
  [-600_000, "warning", /^This machine's clock is (10 min|9 min 59 s|10 min 1 s) ahead of the service's\.$/],
])("a clock that differs by %d ms is told as %s", async (skewMs, status, message) => {
  const date = new Date(Date.now() + skewMs).toUTCString();
  const world = await healthy(json({ code: -1, message: "none" }, 200, { date }));
  const { code, check } = await examined(world, PATIENT);
  expect([code, check("clock")?.status]).toEqual([0, status]);
  expect(check("clock")?.message).toMatch(message);
});

describe("the settings", () => {
  it("are shown with their file and its mode, narrowed as every command does", async () => {
    const world = await healthy();
    const file = await withConfig(world, { model: "z-image" }, 0o644);
    const { check } = await examined(world);
    expect(check("config")).toMatchObject({ status: "ok", message: `${file}, mode 0600` });
  });

  it.each([
    ["model", "nope", "imggen config unset model"],
    ["timeout", "soon", "imggen config unset timeout"],
    ["apiKey", "nonsense", "imggen login"],
  ])("whose %s no command takes are named", async (name, value, hint) => {
    const world = await healthy();
    await withConfig(world, { [name]: value });
    const { code, check } = await examined(world);
    expect([code, check("config")?.status]).toEqual([2, "failed"]);
    expect(check("config")?.message).toContain(name);
    expect(check("config")?.hint).toContain(hint);
  });

  it("of a profile are those that are checked, and one that does not exist is named", async () => {
    const world = await healthy();
    await loginToWork(world);
    const work = await examined(world, { env: NO_ACCOUNT }, ["--profile", "work"]);
    expect([work.code, work.check("profile")?.message]).toEqual([0, "work (--profile)"]);
    expect(work.check("config")?.facts.file).toContain(path.join("profiles", "work"));
    const nope = await examined(world, { env: { ...NO_ACCOUNT, IMGGEN_PROFILE: "nope" } });
    expect([nope.code, nope.check("profile")?.status]).toEqual([2, "failed"]);
    expect(nope.check("profile")?.hint).toContain("imggen login --profile nope");
    const { stdout } = await world.run(["doctor", "--profile", "nope"]);
    expect(stdout).toMatch(/^failed {2}profile .* --base-url <url>\. Profiles: work$/m);
    expect([nope.check("config")?.status, nope.check("service")?.status]).toEqual(["skipped", "skipped"]);
  });

  it.each([
    ["no JSON", (file: string) => writeFile(file, "{ nonsense"), "it is not JSON"],
    ["a folder", (file: string) => rm(file).then(() => mkdir(file)), "it is a folder"],
  ])(
    "that hold %s are named once and kept, and the service is asked without a key",
    async (_what, spoil, why) => {
      const world = await healthy();
      const file = await withConfig(world, {});
      await spoil(file);
      const before = await readFile(file).catch(() => null);
      const { code, check } = await examined(world, { env: { IMGGEN_API_KEY: undefined } });
      expect([code, check("config")?.status, check("service")?.status]).toEqual([2, "failed", "ok"]);
      const named = expect.stringMatching(new RegExp(`${file}.*${why}`));
      expect(check("config")?.message).toEqual(named);
      expect(check("key")).toMatchObject({ status: "skipped", message: named });
      expect(world.server.requests[0]?.headers).not.toHaveProperty("authorization");
      const nowhere = await examined(world, { env: NO_ACCOUNT });
      for (const name of ["service", "key", "clock"]) expect(nowhere.check(name)?.status).toBe("skipped");
      expect(world.server.requests).toHaveLength(1);
      expect(await readFile(file).catch(() => null)).toEqual(before);
    },
  );

  it("may name a file of models; one that is wrong is named with the next step, and the rest checked", async () => {
    const world = await healthy();
    const file = path.join(world.cwd, "models.json");
    await writeFile(file, "[]");
    const named = await examined(world, { env: { IMGGEN_MATRIX: file } });
    expect([named.code, named.check("models")?.message]).toEqual([
      0,
      expect.stringContaining(`${file} (IMGGEN_MATRIX)`),
    ]);
    await withConfig(world, { matrix: "/nowhere/models.json", model: "anything", timeout: "soon" });
    const { code, check } = await examined(world);
    expect([code, check("models")?.status]).toEqual([2, "failed"]);
    expect(check("models")?.hint).toMatch(
      /imggen help matrix\nTo use the built-in models alone: imggen config unset matrix$/,
    );
    expect(check("config")?.hint).toBe("Remove it: imggen config unset timeout");
  });
});

describe("the ledger", () => {
  const FINISH = "To finish them: imggen resume";
  const SEE = "To resume the tasks and see the next steps: imggen resume";

  it.each([
    ["1 task is unfinished (1 accepted).", FINISH, {}, { unfinished: 1, unknown: 0 }],
    ["The outcome of 1 request is unknown.", SEE, { submit: reset }, { unfinished: 0, unknown: 1 }],
  ])("has a warning with the next step: %s", async (message, hint, script, facts) => {
    const world = await commandWorld({ ...script, poll: replies(UNKNOWN_TASK) });
    await world.run(["generate", "a fox", "--no-wait"]);
    const { code, check } = await examined(world, PATIENT);
    expect(code).toBe(0);
    expect(check("tasks")).toMatchObject({ status: "warning", message, hint, facts });
  });

  it("counts the sandbox's tasks alone under --sandbox", async () => {
    const world = await commandWorld({ poll: stillRunning });
    await world.run(["generate", "a fox", "--no-wait"]);
    expect((await examined(world, {}, ["--sandbox"])).check("tasks")?.message).toBe("none unfinished");
  });

  it("that a file stands in place of is said to stop every submit", async () => {
    const world = await healthy();
    await writeFile(path.join(world.home, "state"), "");
    const { code, check } = await examined(world);
    expect([code, check("state")?.status]).toEqual([2, "failed"]);
    expect(check("state")?.hint).toContain("IMGGEN_HOME");
  });
});

const AWAY = { HTTPS_PROXY: "http://ada:secret@127.0.0.1:1", IMGGEN_BASE_URL: "https://service.example/api" };
const HTTP_PROXY = "http://127.0.0.1:1";

it.each([
  ["without its password", AWAY, "ok", /^http:\/\/127\.0\.0\.1:1\/ \(HTTPS_PROXY\)$/],
  [
    "as none where NO_PROXY leaves the service out",
    { ...AWAY, NO_PROXY: "example" },
    "ok",
    /^none for service/,
  ],
  ["as none for a service on this machine", { HTTP_PROXY }, "ok", /^none for 127\.0\.0\.1:\d+$/],
  ["with what is not understood", { HTTP_PROXY, no_proxy: "<local>,a" }, "warning", /no_proxy: <local>\.$/],
])("the proxy is shown %s", async (_how, env, status, message) => {
  const { check, stdout } = await examined(await healthy(), { env });
  expect(check("proxy")).toMatchObject({ status, message: expect.stringMatching(message) });
  expect(stdout).not.toContain("secret");
});

describe("the terminal", () => {
  const COLORFUL = { TERM: "xterm-kitty", COLORTERM: "truecolor" };

  it.each([
    [{ graphics: { kitty: true } }, COLORFUL, "images as kitty graphics"],
    [{}, { TERM: "xterm-256color" }, "256 colours, symbols, images as half blocks"],
    [{}, { TERM: "xterm", NO_COLOR: "1" }, "no colours, symbols, no images"],
    [{ terminalAnswers: () => "\u001b[?62;4c" }, COLORFUL, "images as sixel graphics"],
  ])("%j with %j has %s", async (options, env, what) => {
    const screen = { terminal: "stdout", columns: 100, rows: 30 } as const;
    const { stdout } = await (await healthy()).run(["doctor"], { ...screen, ...options, env });
    expect(stdout).toContain(`100×30, `);
    expect(stdout).toContain(what);
  });

  it("is asked nothing under --json, whose document would have the question beside it", async () => {
    const asked: string[] = [];
    const terminalAnswers = (question: string) => String(asked.push(question));
    const options = { terminal: "stdout", terminalAnswers, env: COLORFUL } as const;
    expect((await examined(await healthy(), options)).check("terminal")?.status).toBe("ok");
    expect(asked).toEqual([]);
  });
});

it.each([
  ["18.20.8", "failed"],
  ["20.18.3", "failed"],
  ["20.19.0", "ok"],
  ["22.0.0", "ok"],
])("Node %s is %s", async (nodeVersion, status) => {
  expect((await examined(await healthy(), { nodeVersion })).check("node")?.status).toBe(status);
});

it("Node must be what package.json says", async () => {
  const file = path.resolve(import.meta.dirname, "../../../../package.json");
  expect(JSON.parse(await readFile(file, "utf8")).engines.node).toBe(`>=${OLDEST_NODE}`);
});
