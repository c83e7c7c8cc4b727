import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { automatic1111 } from "../../support/automatic1111.ts";
import { CANARY } from "../../support/canary.ts";
import { comfyDouble } from "../../support/comfyui.ts";
import { commandWorld } from "../../support/command-world.ts";
import { answers } from "../../support/doubles/double.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { type GeneratorWorld, generatorWorld } from "../../support/generator-world.ts";
import { PICTURE } from "../../support/images.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";
import { json, response } from "../../support/scripted-server.ts";
import { storedSettings, withConfig } from "../../support/settings-file.ts";
import { words } from "../../support/words.ts";

const NONE_SET = { IMGGEN_GENERATOR: undefined };

describe("login --generator", () => {
  it("stores the key, bound to its origin, and the generator; both are used from then on", async () => {
    const world = await generatorWorld();
    const { origin } = world.generator;
    const [generator, shown] = [`openai:${origin}/v1`, "sk-…2046"];
    const login = ["login", "--generator", origin];
    expect(await world.json(login, { input: `${CANARY}\n`, env: NONE_SET })).toMatchObject({
      code: 0,
      document: { generator, generatorKey: shown, verified: true },
    });
    const stored = { generator, generatorKey: CANARY, generatorKeyOrigin: origin };
    expect(await storedSettings(world)).toEqual(stored);
    expect(await world.run(["generate", "a fox"], { env: NONE_SET })).toMatchObject({ code: 0 });
    expect(world.generator.submits()[0]?.headers.authorization).toBe(`Bearer ${CANARY}`);
    const { stdout } = await world.run(["config", "list"], { env: NONE_SET });
    expect(stdout).toMatch(/^generatorKey +sk-…2046 +config$/m);
  });

  it("sends a user name and a password of any language as UTF-8", async () => {
    const world = await generatorWorld();
    const login = ["login", "--generator", `sdapi:${world.generator.origin}`];
    expect(await world.run(login, { input: "анна:пароль\n", env: NONE_SET })).toMatchObject({ code: 0 });
    const [, sent = ""] = /^Basic (.*)$/.exec(world.generator.requests[0]?.headers.authorization ?? "") ?? [];
    expect(Buffer.from(sent, "base64").toString()).toBe("анна:пароль");
    const bearer = ["login", "--generator", world.generator.origin];
    expect(await world.run(bearer, { input: "анна:пароль\n", env: NONE_SET })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("a character beyond Latin-1"),
    });
  });

  it.each([
    ["Authorization: Bearer sesame", /a whole header: give the key alone/],
    ["“ada:sesame”", /has quotes around it: give the key without them/],
  ])("stores nothing where more than a login is pasted: %s", async (pasted, message) => {
    const world = await generatorWorld();
    const login = ["login", "--generator", `sdapi:${world.generator.origin}`];
    const { code, stderr } = await world.run(login, { input: `${pasted}\n`, env: NONE_SET });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(await storedSettings(world)).toEqual({});
  });

  it.each([
    ["/v1/images/generations", "/v1"],
    ["/v1/images/edits/", "/v1"],
    ["/images/generations", "/v1"],
    ["/proxy/v1/chat/completions", "/proxy/v1"],
  ])("takes the address of an operation (%s) for that of its server", async (pasted, base) => {
    const world = await generatorWorld();
    const login = ["login", "--generator", `${world.generator.origin}${pasted}`, "--no-verify"];
    expect((await world.run(login, { input: "\n", env: NONE_SET })).code).toBe(0);
    expect(await storedSettings(world)).toEqual({ generator: `openai:${world.generator.origin}${base}` });
  });

  it("stores a generator without a key, which a command never has", async () => {
    const world = await generatorWorld();
    expect(
      await world.run(["login", "--generator", world.generator.origin], { input: "\n", env: NONE_SET }),
    ).toMatchObject({ code: 0 });
    expect(await storedSettings(world)).toEqual({ generator: `openai:${world.generator.origin}/v1` });
    const command = "command:/bin/paint {promptFile} {output}";
    expect(await world.run(["login", "--generator", command], { env: NONE_SET })).toMatchObject({ code: 0 });
    expect(await storedSettings(world)).toEqual({ generator: command });
  });

  it("stores nothing where the generator refuses the key", async () => {
    const refused = response(401, JSON.stringify({ error: { code: "invalid_api_key" } }));
    const world = await generatorWorld(undefined, refused);
    const login = ["login", "--generator", world.generator.origin];
    const error = { type: "auth_required" };
    expect(await world.json(login, { input: `${CANARY}\n`, env: NONE_SET })).toMatchObject({
      code: 3,
      document: { error },
    });
    expect(await storedSettings(world)).toEqual({});
  });

  it("keeps the service of a profile that has one, and stores the key alone", async () => {
    const world = await generatorWorld();
    await withConfig(world, { baseUrl: world.service.baseUrl });
    const login = ["login", "--generator", world.generator.origin, "--no-verify"];
    expect(await world.run(login, { input: `${CANARY}\n`, env: NONE_SET })).toMatchObject({ code: 0 });
    expect(await storedSettings(world)).toEqual({
      baseUrl: world.service.baseUrl,
      generatorKey: CANARY,
      generatorKeyOrigin: world.generator.origin,
    });
  });

  it("is undone by logout", async () => {
    const world = await generatorWorld();
    await withConfig(world, {
      ...{ generator: "openai", generatorKey: "sesame", generatorKeyOrigin: "https://api.openai.com" },
      // For the next generator it would be a lie that costs money.
      generatorFree: "true",
      ...{ workflow: "/fox.json", field: "steps=20", seed: "7", negative: "rain", ratio: "1:1" },
    });
    expect(await world.run(["logout"], { env: NONE_SET })).toMatchObject({
      code: 0,
      stderr:
        "Removed the generator openai, the generator's key and the settings field, seed, negative, workflow, generatorFree.\n",
    });
    expect(await storedSettings(world)).toEqual({ ratio: "1:1" });
  });
});

describe("config", () => {
  it("keeps a service and a generator apart", async () => {
    const world = await generatorWorld();
    const { baseUrl } = world.service;
    await withConfig(world, { baseUrl });
    const set = await world.run(["config", "set", "generator", "openai"]);
    expect(set).toMatchObject({ code: 2, stderr: expect.stringContaining("imggen config unset baseUrl") });
    await withConfig(world, { generator: "openai" });
    expect((await world.run(["config", "set", "baseUrl", baseUrl])).code).toBe(2);
    expect((await world.run(["login", "--base-url", baseUrl], { input: `${CANARY}\n` })).code).toBe(2);
    expect(await storedSettings(world)).toEqual({ generator: "openai" });
  });

  it("makes a profile for a generator", async () => {
    const { generator, prompts, run } = await generatorWorld();
    for (const args of [
      ["config", "set", "generator", generator.origin],
      ["generate", "a fox"],
    ])
      expect((await run([...args, "--profile", "gpu"], { env: NONE_SET })).code).toBe(0);
    expect(prompts()).toEqual(["a fox"]);
  });

  it.each([
    ["model", "sd3", 0],
    ["ratio", "5:7", 0],
    ["ratio", "wide", 2],
  ])("takes any model and ratio of a generator, in its profile: %s %s", async (name, value, code) => {
    expect((await (await generatorWorld()).run(["config", "set", name, value])).code).toBe(code);
  });

  it("takes no key, and forgets with the key where it belongs", async () => {
    const world = await generatorWorld();
    expect(await world.run(["config", "set", "generatorKey", "sesame"])).toMatchObject({ code: 2 });
    await withConfig(world, { generatorKey: "sesame", generatorKeyOrigin: "https://images.example.com" });
    expect(await world.run(["config", "unset", "generatorKey"])).toMatchObject({ code: 0 });
    expect(await storedSettings(world)).toEqual({});
  });
});

describe("doctor", () => {
  const checked = async (world: GeneratorWorld, args: string[] = []) => {
    // A busy machine needs all of the time that a check has.
    const { code, document } = await world.json(["doctor", ...args], { clock: systemClock });
    const checks = document.checks as unknown as { name: string; status: string; message: string }[];
    return { code, check: (name: string) => checks.find((each) => each.name === name) };
  };

  it("says that a generator answers, what it costs and what it has", async () => {
    const world = await generatorWorld();
    const { code, check } = await checked(world);
    const message = expect.stringMatching(/answers in .*, free, with the model flux$/);
    expect([code, check("service"), check("key")]).toMatchObject([
      0,
      { status: "ok", message },
      { status: "ok" },
    ]);
    expect([world.service.requests, world.generator.submits()]).toEqual([[], []]);
  });

  it.each<[string, Buffer | undefined, string[], object, object]>([
    [
      "asks whether the address is right where there is no list of models",
      response(404, "nothing here"),
      [],
      {
        status: "warning",
        message: expect.stringMatching(/its list of models answers 404\. Is the address right\?$/),
      },
      {},
    ],
    [
      "says that a server which answers 401 is there, and that its key is wrong",
      response(401, "who are you?"),
      [],
      { status: "ok" },
      { status: "failed" },
    ],
    [
      "warns of a model that it does not list",
      undefined,
      ["--generator-model", "sd3"],
      { status: "warning", message: expect.stringContaining("sd3") },
      {},
    ],
    [
      "does not say of one that is not checked without a key that it answers",
      undefined,
      ["--generator", "openai"],
      { status: "skipped", message: "openai is not checked without a key" },
      { status: "failed", message: "No key for OpenAI is set." },
    ],
  ])("%s", async (_what, models, flags, service, key) => {
    const { check } = await checked(await generatorWorld(undefined, models), flags);
    expect([check("service"), check("key")]).toMatchObject([service, key]);
  });

  it("names the kind of a server that is not of the kind that is set", async () => {
    const world = await generatorWorld();
    const [comfy, forge] = [await comfyDouble(), await automatic1111()];
    const service = async (spec: string) => (await checked(world, ["--generator", spec])).check("service");
    for (const [spec, other] of [
      [comfy.url, `comfyui:${comfy.url}`],
      [`sdapi:${comfy.url}`, `comfyui:${comfy.url}`],
      [`comfyui:${forge.origin}`, `sdapi:${forge.origin}`],
      [`comfyui:${world.generator.origin}`, `openai:${world.generator.origin}/v1`],
    ] as const) {
      const message = expect.stringMatching(new RegExp(`answers with the API of ${other}\\.$`));
      expect(await service(spec)).toMatchObject({ status: "failed", message });
    }
    expect(await service(`comfyui:${comfy.url}`)).toMatchObject({ status: "ok" });
  });

  it("names one that cannot be reached, and a program that cannot be run", async () => {
    const world = await generatorWorld();
    await world.generator.close();
    expect((await checked(world)).check("service")).toMatchObject({ status: "failed" });
    const command = ["--generator", "command:/nowhere/paint {promptFile} {output}"];
    const { code, check } = await checked(world, command);
    const message = expect.stringContaining("/nowhere/paint");
    expect([code, check("service")]).toMatchObject([2, { status: "failed", message }]);
  });
});

describe("models", () => {
  it("lists what the generator says that it has, of which no more is known than the names", async () => {
    const { json, run } = await generatorWorld();
    const { document } = await json(["models"]);
    expect(document).toMatchObject([{ id: "flux", credits: null, promptLimit: null }]);
    expect(await run(["models"])).toMatchObject({ code: 0, stdout: "flux\n", stderr: "" });
  });

  it("has what is known of OpenAI's models where it cannot be asked", async () => {
    const { json } = await generatorWorld();
    const { code, document, stderr } = await json(["models", "--generator", "openai"]);
    expect(code).toBe(0);
    expect((document as unknown as { id: string }[]).map(({ id }) => id)).toContain("gpt-image-2");
    expect(stderr).toContain("No key for OpenAI is set.");
  });
});

describe("history", () => {
  it("names the generator, and lists one generator's tasks where a flag names it", async () => {
    const { run, json } = await generatorWorld();
    await run(["generate", "a fox"]);
    expect((await run(["history"])).stdout).toMatch(/GENERATOR.*\n.*127\.0\.0\.1:\d+/);
    expect((await json(["history", "--generator", "http://gpubox:1234"])).document).toEqual([]);
  });

  it("adds up what generators said of cost and tokens", async () => {
    const { run, json } = await generatorWorld();
    for (const prompt of ["a fox", "a bear"]) await run(["generate", prompt]);
    expect((await json(["history", "--summary"])).document).toMatchObject({
      total: { tasks: 2, credits: 0, usage: { total_tokens: 24 } },
    });
    expect((await run(["history", "--summary"])).stdout).toContain("total_tokens 24");
  });
});

describe("a flag about a generator", () => {
  it.each([
    ["config", "list"],
    ["logout"],
    ["completion", "bash"],
    // There is no generator.
    ["generate", "a fox"],
  ])("is refused by %s %s", async (...args) => {
    const { run, service } = await generatorWorld();
    const env = args[0] === "generate" ? { ...NONE_SET, IMGGEN_BASE_URL: service.baseUrl } : {};
    expect(await run([...args, "--generator-model", "flux"], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--generator-model"),
    });
    expect(service.requests).toEqual([]);
  });
});

describe("a key in a query", () => {
  const IN_QUERY = `https://images.example/v1?api_key=${CANARY}`;

  it.each([
    ["--generator", ["generate", "a fox", "--generator", IN_QUERY], {}],
    ["IMGGEN_GENERATOR", ["generate", "a fox"], { IMGGEN_GENERATOR: `sdapi:${IN_QUERY}` }],
    ["IMGGEN_BASE_URL", ["generate", "a fox"], { ...NONE_SET, IMGGEN_BASE_URL: IN_QUERY }],
    ["generator", ["config", "set", "generator", IN_QUERY], NONE_SET],
    ["baseUrl", ["config", "set", "baseUrl", IN_QUERY], NONE_SET],
    ["--base-url", ["login", "--no-verify", "--base-url", IN_QUERY.slice(8)], NONE_SET],
  ])("of %s is refused, and is in no output and no file", async (label, args, env) => {
    const world = await generatorWorld();
    const { code, document } = await world.json(args, { env });
    const message = expect.stringContaining(`${label} has a key in its query`);
    const hint = expect.stringMatching(/imggen login/);
    expect({ code, error: document.error }).toMatchObject({ code: 2, error: { message, hint } });
    expect(JSON.stringify(document)).not.toContain(CANARY);
    expect(await storedSettings(world)).not.toHaveProperty("generator");
  });

  it("is not shown by config, wherever it comes from", async () => {
    const world = await generatorWorld();
    await withConfig(world, { baseUrl: IN_QUERY });
    const config = (line: string) =>
      world.run(["config", ...words(line)], { env: { IMGGEN_GENERATOR: IN_QUERY } });
    for (const line of ["list", "list --json", "get generator", "get baseUrl", "set generator openai"])
      expect(JSON.stringify(await config(line))).not.toContain(CANARY);
    expect((await config("get generator")).stdout).toBe("https://images.example/v1?…\n");
  });
});

describe("a key", () => {
  it.each([
    ["openai", "IMGGEN_GENERATOR_KEY"],
    ["sdapi", "IMGGEN_GENERATOR_KEY"],
    ["fal", "FAL_KEY"],
    ["replicate", "REPLICATE_API_TOKEN"],
    ["bfl", "BFL_API_KEY"],
    ["gemini", "GEMINI_API_KEY"],
  ])(
    "for %s with a zero-width or no-break space inside is refused, with %s named",
    async (kind, variable) => {
      const { generator, json } = await generatorWorld();
      const spec = variable === "IMGGEN_GENERATOR_KEY" ? `${kind}:${generator.origin}` : kind;
      const message = expect.stringMatching(`^${variable} contains an invisible`);
      for (const character of ["\u200b", "\u00a0", "\ufeff"]) {
        const env = { IMGGEN_GENERATOR: spec, [variable]: `key-of${character}ada-1234` };
        const refused = await json(["generate", "a fox", "-m", "a/b"], { env });
        expect(refused).toMatchObject({ code: 2, document: { error: { message } } });
      }
      expect(generator.requests).toEqual([]);
    },
  );

  it("is sent without the invisible characters that were pasted around it", async () => {
    const world = await generatorWorld();
    const env = { IMGGEN_GENERATOR_KEY: "\u200b\u00a0key-of-ada-1234\ufeff" };
    expect(await world.run(["generate", "a fox"], { env })).toMatchObject({ code: 0 });
    expect(world.generator.submits()[0]?.headers.authorization).toBe("Bearer key-of-ada-1234");
  });

  it.each([
    [{ FAL_KEY: "id:ключ" }, "FAL_KEY cannot be sent"],
    [{ IMGGEN_GENERATOR_KEY: "id:ключ" }, "beyond Latin-1"],
  ])("of fal, which has a colon, cannot hold a character beyond Latin-1: %j", async (key, said) => {
    const { json } = await generatorWorld();
    const env = { IMGGEN_GENERATOR: "fal", ...key };
    expect(await json(["generate", "a fox", "-m", "fal-ai/flux/dev"], { env })).toMatchObject({
      code: 2,
      document: { error: { message: expect.stringContaining(said) } },
    });
  });

  it("of the service is sent without invisible characters around it, and refused with one inside", async () => {
    const { json, server } = await commandWorld({}, { IMGGEN_API_KEY: `\u00a0${CANARY}\u200b` });
    expect((await json(["generate", "a fox"])).code).toBe(0);
    expect(server.submits()[0]?.headers.authorization).toBe(`Bearer ${CANARY}`);
    const env = { IMGGEN_API_KEY: "sk-ca\u00adnary" };
    const message = expect.stringMatching("^IMGGEN_API_KEY contains an invisible");
    expect(await json(["generate", "a fox"], { env })).toMatchObject({
      code: 2,
      document: { error: { message } },
    });
  });
});

it("a key in a result URL is masked in every output and in the saved file, and other queries stay", async () => {
  const world = await generatorWorld(
    (request, socket) => {
      if (request.target.includes("/files/")) return void socket.write(response(200, PICTURE));
      const url = `http://${request.headers.host}/files/fox.png?signature=abc&token=${CANARY}`;
      socket.write(response(200, JSON.stringify({ data: [{ url }] })));
    },
    response(200, PICTURE),
  );
  const env = { IMGGEN_GENERATOR_KEY: CANARY };
  const generate = ["generate", "a fox", "-m", "flux", "--no-validate", "--verbose", "--sidecar"];
  const { code, stderr, document } = await world.json(generate, { env });
  expect(code).toBe(0);
  expect(document.files?.[0]?.url).toMatch(/\/files\/fox.png\?signature=abc&token=sk-…2046$/);
  const { document: history } = await world.json(["history"], { env });
  const { stdout: shown } = await world.run(["show", String(document.files?.[0]?.path)], { env });
  const documents = JSON.stringify([document, history]);
  for (const text of [documents, stderr, shown]) expect(text).not.toContain(CANARY);
  expect(world.generator.requests.find(({ target }) => target.includes("/files/"))?.target).toContain(CANARY);
});

describe("a key in the path of a result's URL is masked in what", () => {
  const madeAt = (path: (origin: string) => string) =>
    paidService(
      REPLICATE,
      {
        poll: answers((origin) => json({ id: "pred-1", status: "succeeded", output: [path(origin)] })),
        file: answers(() => response(200, PICTURE, { "content-type": "image/png" })),
      },
      { IMGGEN_GENERATOR_KEY: CANARY },
    );

  it("--verbose says", async () => {
    const { run, generate, double } = await madeAt((origin) => `${origin}/${CANARY}/fox.png`);
    const { stderr } = await run([...generate, "--verbose"]);
    expect(stderr).toMatch(/GET .*\/sk-%E2%80%A62046\/fox\.png: 200/);
    expect(stderr).not.toContain(CANARY);
    expect(double.asked("file")).toHaveLength(1);
  });

  it("status says", async () => {
    const { json, generate, home } = await madeAt(() => `https://files.example/${CANARY}/fox.png`);
    expect((await json([...generate, "--no-wait"])).code).toBe(0);
    const [id = ""] = await openTasks(home);
    const urls = [expect.stringMatching(/^https:\/\/files\.example\/sk-…2046\/fox\.png$/)];
    expect((await json(["status", id])).document).toMatchObject({ urls });
  });
});
