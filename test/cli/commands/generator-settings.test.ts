import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { automatic1111 } from "../../support/automatic1111.ts";
import { CANARY } from "../../support/canary.ts";
import { comfyDouble } from "../../support/comfyui.ts";
import { commandWorld } from "../../support/command-world.ts";
import { answers } from "../../support/doubles/double.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { type GeneratorWorld, generatorWorld, refuses } from "../../support/generator-world.ts";
import { PICTURE } from "../../support/images.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";
import { response } from "../../support/scripted-server.ts";
import { storedSettings, withConfig } from "../../support/settings-file.ts";

const NONE_SET = { IMGGEN_GENERATOR: undefined };

describe("login --generator", () => {
  it("stores the key, bound to its origin, and the generator; both are used from then on", async () => {
    const world = await generatorWorld();
    const { origin } = world.generator;
    const login = ["login", "--generator", origin];
    const { code, document } = await world.json(login, { input: `${CANARY}\n`, env: NONE_SET });
    expect({ code, document }).toMatchObject({
      code: 0,
      document: { generator: `openai:${origin}/v1`, generatorKey: "sk-…2046", verified: true },
    });
    expect(await storedSettings(world)).toEqual({
      generator: `openai:${origin}/v1`,
      generatorKey: CANARY,
      generatorKeyOrigin: origin,
    });
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
    const world = await generatorWorld();
    const refused = response(
      401,
      JSON.stringify({ error: { message: "Incorrect API key", code: "invalid_api_key" } }),
    );
    const server = await generatorWorld(refuses(401, "invalid_api_key"), refused);
    const login = ["login", "--generator", server.generator.origin];
    expect(await world.json(login, { input: `${CANARY}\n`, env: NONE_SET })).toMatchObject({
      code: 3,
      document: { error: { type: "auth_required" } },
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
      generator: "openai",
      generatorKey: "sesame",
      generatorKeyOrigin: "https://api.openai.com",
      // For the next generator it would be a lie that costs money.
      generatorFree: "true",
      workflow: "/fox.json",
      field: "steps=20",
      seed: "7",
      negative: "rain",
      ratio: "1:1",
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
    await withConfig(world, { baseUrl: world.service.baseUrl });
    const set = await world.run(["config", "set", "generator", "openai"]);
    expect(set).toMatchObject({ code: 2, stderr: expect.stringContaining("imggen config unset baseUrl") });
    await withConfig(world, { generator: "openai" });
    expect(await world.run(["config", "set", "baseUrl", world.service.baseUrl])).toMatchObject({ code: 2 });
    expect(
      await world.run(["login", "--base-url", world.service.baseUrl], { input: `${CANARY}\n` }),
    ).toMatchObject({ code: 2 });
    expect(await storedSettings(world)).toEqual({ generator: "openai" });
  });

  it("makes a profile for a generator", async () => {
    const world = await generatorWorld();
    const profile = ["--profile", "gpu"];
    const env = NONE_SET;
    expect(
      await world.run(["config", "set", "generator", world.generator.origin, ...profile], { env }),
    ).toMatchObject({ code: 0 });
    expect(await world.run(["generate", "a fox", ...profile], { env })).toMatchObject({ code: 0 });
    expect(world.prompts()).toEqual(["a fox"]);
  });

  it("takes any model and ratio of a generator, in its profile", async () => {
    const world = await generatorWorld();
    expect(await world.run(["config", "set", "model", "sd3"])).toMatchObject({ code: 0 });
    expect(await world.run(["config", "set", "ratio", "5:7"])).toMatchObject({ code: 0 });
    expect(await world.run(["config", "set", "ratio", "wide"])).toMatchObject({ code: 2 });
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
    expect(code).toBe(0);
    expect(check("service")).toMatchObject({
      status: "ok",
      message: expect.stringMatching(/answers in .*, free, with the model flux$/),
    });
    expect(check("key")).toMatchObject({ status: "ok" });
    expect(world.service.requests).toEqual([]);
    expect(world.generator.submits()).toEqual([]);
  });

  it("asks whether the address is right where there is no list of models", async () => {
    const { check } = await checked(await generatorWorld(undefined, response(404, "nothing here")));
    expect(check("service")).toMatchObject({
      status: "warning",
      message: expect.stringMatching(/its list of models answers 404\. Is the address right\?$/),
    });
  });

  it("names the kind of a server that is not of the kind that is set", async () => {
    const world = await generatorWorld();
    const [comfy, forge] = [await comfyDouble(), await automatic1111()];
    for (const [spec, other] of [
      [comfy.url, `comfyui:${comfy.url}`],
      [`sdapi:${comfy.url}`, `comfyui:${comfy.url}`],
      [`comfyui:${forge.origin}`, `sdapi:${forge.origin}`],
      [`comfyui:${world.generator.origin}`, `openai:${world.generator.origin}/v1`],
    ] as const) {
      const { code, check } = await checked(world, ["--generator", spec]);
      expect([code, check("service")]).toMatchObject([
        expect.any(Number),
        { status: "failed", message: expect.stringMatching(new RegExp(`answers, but as ${other}\\.$`)) },
      ]);
    }
    expect((await checked(world, ["--generator", `comfyui:${comfy.url}`])).check("service")).toMatchObject({
      status: "ok",
    });
  });

  it("says that a server which answers 401 is there, and that its key is wrong", async () => {
    const { check } = await checked(await generatorWorld(undefined, response(401, "who are you?")));
    expect(check("service")).toMatchObject({ status: "ok" });
    expect(check("key")).toMatchObject({ status: "failed" });
  });

  it("warns of a model that it does not list", async () => {
    const world = await generatorWorld();
    const { check } = await checked(world, ["--generator-model", "sd3"]);
    expect(check("service")).toMatchObject({ status: "warning", message: expect.stringContaining("sd3") });
  });

  it("does not say of one that is not checked without a key that it answers", async () => {
    const { check } = await checked(await generatorWorld(), ["--generator", "openai"]);
    expect(check("service")).toMatchObject({
      status: "skipped",
      message: "openai is not checked without a key",
    });
    expect(check("key")).toMatchObject({ status: "failed", message: "No key for OpenAI is set." });
  });

  it("names one that cannot be reached, and a program that cannot be run", async () => {
    const world = await generatorWorld();
    await world.generator.close();
    expect((await checked(world)).check("service")).toMatchObject({ status: "failed" });
    const command = ["--generator", "command:/nowhere/paint {promptFile} {output}"];
    const { code, check } = await checked(world, command);
    expect(code).toBe(2);
    expect(check("service")).toMatchObject({
      status: "failed",
      message: expect.stringContaining("/nowhere/paint"),
    });
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
  it.each([["config", "list"], ["logout"], ["completion", "bash"]])("is refused by %s", async (...args) => {
    const world = await generatorWorld();
    expect(await world.run([...args, "--generator-model", "flux"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--generator-model"),
    });
  });

  it("is refused where there is no generator", async () => {
    const world = await generatorWorld();
    const env = { IMGGEN_GENERATOR: undefined, IMGGEN_BASE_URL: world.service.baseUrl };
    expect(await world.run(["generate", "a fox", "--generator-model", "flux"], { env })).toMatchObject({
      code: 2,
    });
    expect(world.service.requests).toEqual([]);
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
    expect([code, document.error?.message]).toEqual([
      2,
      expect.stringContaining(`${label} has a key in its query`),
    ]);
    expect(document.error?.hint).toMatch(/imggen login/);
    expect(JSON.stringify(document)).not.toContain(CANARY);
    expect(await storedSettings(world).catch(() => ({}))).not.toHaveProperty("generator");
  });

  it("is not shown by config, wherever it comes from", async () => {
    const world = await generatorWorld();
    await withConfig(world, { baseUrl: IN_QUERY });
    const env = { IMGGEN_GENERATOR: IN_QUERY };
    for (const args of [
      ["list"],
      ["list", "--json"],
      ["get", "generator"],
      ["get", "baseUrl"],
      ["set", "generator", "openai"],
    ]) {
      const { stdout, stderr } = await world.run(["config", ...args], { env });
      expect(stdout + stderr).not.toContain(CANARY);
    }
    expect((await world.run(["config", "get", "generator"], { env })).stdout).toBe(
      "https://images.example/v1?…\n",
    );
  });
});

describe("a key", () => {
  const KINDS = [
    ["openai", "IMGGEN_GENERATOR_KEY"],
    ["sdapi", "IMGGEN_GENERATOR_KEY"],
    ["fal", "FAL_KEY"],
    ["replicate", "REPLICATE_API_TOKEN"],
    ["bfl", "BFL_API_KEY"],
    ["gemini", "GEMINI_API_KEY"],
  ] as const;

  it.each(KINDS)(
    "for %s with a zero-width or no-break space inside is refused, with %s named",
    async (kind, variable) => {
      const world = await generatorWorld();
      const spec = variable === "IMGGEN_GENERATOR_KEY" ? `${kind}:${world.generator.origin}` : kind;
      for (const character of ["\u200b", "\u00a0", "\ufeff"]) {
        const env = { IMGGEN_GENERATOR: spec, [variable]: `key-of${character}ada-1234` };
        const { code, document } = await world.json(["generate", "a fox", "-m", "a/b"], { env });
        expect([code, document.error?.message]).toEqual([
          2,
          expect.stringMatching(`^${variable} contains an invisible`),
        ]);
      }
      expect(world.generator.requests).toEqual([]);
    },
  );

  it("is sent without the invisible characters that were pasted around it", async () => {
    const world = await generatorWorld();
    const env = { IMGGEN_GENERATOR_KEY: "\u200b\u00a0key-of-ada-1234\ufeff" };
    expect(await world.run(["generate", "a fox"], { env })).toMatchObject({ code: 0 });
    expect(world.generator.submits()[0]?.headers.authorization).toBe("Bearer key-of-ada-1234");
  });

  it("of fal, which has a colon, cannot hold a character beyond Latin-1", async () => {
    const world = await generatorWorld();
    const env = { IMGGEN_GENERATOR: "fal", FAL_KEY: "id:ключ", IMGGEN_GENERATOR_KEY: undefined };
    const { code, document } = await world.json(["generate", "a fox", "-m", "fal-ai/flux/dev"], { env });
    expect([code, document.error?.message]).toEqual([2, expect.stringContaining("FAL_KEY cannot be sent")]);
    const other = { ...env, FAL_KEY: undefined, IMGGEN_GENERATOR_KEY: "id:ключ" };
    const again = await world.json(["generate", "a fox", "-m", "fal-ai/flux/dev"], { env: other });
    expect([again.code, again.document.error?.message]).toEqual([
      2,
      expect.stringContaining("beyond Latin-1"),
    ]);
  });

  it("of the service is sent without invisible characters around it, and refused with one inside", async () => {
    const { json, server } = await commandWorld({}, { IMGGEN_API_KEY: `\u00a0${CANARY}\u200b` });
    expect((await json(["generate", "a fox"])).code).toBe(0);
    expect(server.submits()[0]?.headers.authorization).toBe(`Bearer ${CANARY}`);
    const { code, document } = await json(["generate", "a fox"], {
      env: { IMGGEN_API_KEY: "sk-ca\u00adnary" },
    });
    expect([code, document.error?.message]).toEqual([
      2,
      expect.stringMatching("^IMGGEN_API_KEY contains an invisible"),
    ]);
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

it("a key in the path of a result's URL is masked in what --verbose says", async () => {
  const poll = answers((origin) =>
    Buffer.from(
      response(
        200,
        JSON.stringify({ id: "pred-1", status: "succeeded", output: `${origin}/${CANARY}/fox.png` }),
      ),
    ),
  );
  const file = answers(() => response(200, PICTURE, { "content-type": "image/png" }));
  const { run, generate, double } = await paidService(
    REPLICATE,
    { poll, file },
    { IMGGEN_GENERATOR_KEY: CANARY },
  );
  const { stderr } = await run([...generate, "--verbose"]);
  expect(stderr).toMatch(/GET .*\/sk-%E2%80%A62046\/fox\.png: 200/);
  expect(stderr).not.toContain(CANARY);
  expect(double.asked("file")).toHaveLength(1);
});

it("a key in the path of a result's URL is masked in what status says", async () => {
  const output = `https://files.example/${CANARY}/fox.png`;
  const said = { id: "pred-1", status: "succeeded", output: [output], urls: {} };
  const poll = answers(() => Buffer.from(response(200, JSON.stringify(said))));
  const more = { IMGGEN_GENERATOR_KEY: CANARY };
  const { json, generate, home } = await paidService(REPLICATE, { poll }, more);
  expect((await json([...generate, "--no-wait"])).code).toBe(0);
  const [id = ""] = await openTasks(home);
  const { document } = await json(["status", id]);
  expect(document).toMatchObject({
    urls: [expect.stringMatching(/^https:\/\/files\.example\/sk-…2046\/fox\.png$/)],
  });
});
