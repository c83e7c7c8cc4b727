import { describe, expect, it } from "vitest";
import { automatic1111 } from "../../support/automatic1111.ts";
import { CANARY } from "../../support/canary.ts";
import { comfyDouble } from "../../support/comfyui.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { makesImage, modelList } from "../../support/generator-world.ts";
import { deadPort, liveServer } from "../../support/live-server.ts";
import { type Behaviour, json, response } from "../../support/scripted-server.ts";
import { words } from "../../support/words.ts";

const KEY_VARIABLES = words(
  "OPENAI_API_KEY REPLICATE_API_TOKEN FAL_KEY BFL_API_KEY GEMINI_API_KEY GOOGLE_API_KEY",
);
const KEYS = { OPENAI_API_KEY: CANARY, REPLICATE_API_TOKEN: CANARY };
const question = (which: string) => `Which generator should be the default? [${which}, Enter for none] `;

/** A world without an account, and three servers of different kinds on this machine. */
async function withServers(env: Record<string, string> = {}) {
  const world = await commandWorld({}, { ...NO_ACCOUNT, ...env });
  const automatic = await automatic1111();
  const comfy = await comfyDouble({ checkpoints: ["dream.safetensors", "photo.safetensors"] });
  const openAi = await liveServer((request, socket) =>
    request.method === "POST" ? makesImage(request, socket) : void socket.write(modelList("flux")),
  );
  const localPorts = [automatic.port, Number(new URL(comfy.url).port), openAi.port, await deadPort()];
  const [first, second, third] = localPorts;
  const specs = {
    automatic: `sdapi:http://localhost:${first}`,
    comfy: `comfyui:http://localhost:${second}`,
    openAi: `openai:http://localhost:${third}/v1`,
  };
  return { ...world, automatic, comfy, openAi, localPorts, specs };
}

describe("setup", () => {
  it("tells servers by what they answer, with the model of each, and sends no key", async () => {
    const world = await withServers({ ...KEYS, IMGGEN_GENERATOR_KEY: CANARY });
    const { json: asJson, localPorts, specs, automatic, comfy, openAi } = world;
    const { code, document } = await asJson(["setup"], { localPorts });
    const server = (at: number, generator: string, models: string[], model: string, needsModel: boolean) => {
      return { port: localPorts[at], generator, models, model, needsModel, paid: false };
    };
    const service = (generator: string, variable: string, model: string, needsModel: boolean) => {
      return { generator, variable, model, needsModel, paid: true };
    };
    expect({ code, document }).toEqual({
      code: 0,
      document: {
        ok: true,
        ports: localPorts,
        variables: KEY_VARIABLES,
        servers: [
          server(0, specs.automatic, ["dream", "paint"], "paint", false),
          server(1, specs.comfy, ["dream.safetensors", "photo.safetensors"], "dream.safetensors", true),
          server(2, specs.openAi, ["flux"], "flux", false),
        ],
        locked: [],
        services: [
          service("openai", "OPENAI_API_KEY", "gpt-image-2", false),
          service("replicate", "REPLICATE_API_TOKEN", "black-forest-labs/flux-schnell", true),
        ],
        apiKey: false,
        default: null,
        file: expect.stringMatching(/config\.json$/),
      },
    });
    const sent = [...automatic.requests, ...comfy.requests, ...openAi.requests];
    expect(JSON.stringify(sent)).not.toContain(CANARY);
    expect((await asJson(["config", "get", "generator"])).document).toMatchObject({ value: null });
  });

  it.each([
    ["1", "automatic", {}],
    ["2", "comfy", { model: "dream.safetensors" }],
    ["3", "openAi", { model: "flux" }],
  ] as const)(
    "on a terminal makes number %s the default, which generate then uses",
    async (typed, name, request) => {
      const { run, json: asJson, localPorts, specs } = await withServers();
      const answers = { [question("1-3")]: typed };
      const { code, stdout, stderr } = await run(["setup"], { terminal: true, localPorts, answers });
      expect(code).toBe(0);
      expect(stdout).toContain(specs[name]);
      expect(stderr).toContain(`generator is now ${specs[name]}`);
      expect(stderr).toContain('Images are free.\nNext: imggen generate "a red fox"\n');
      const made = await asJson(["generate", "a red fox"]);
      expect([made.code, made.document]).toMatchObject([0, { request }]);
    },
  );

  it("stores a model where the service needs one, and says that it is paid", async () => {
    const { run, localPorts } = await withServers(KEYS);
    const answers = { [question("1-5")]: "5" };
    const { stderr } = await run(["setup"], { terminal: true, localPorts, answers });
    expect(stderr).toContain(
      "generator is now replicate, generatorModel black-forest-labs/flux-schnell, in ",
    );
    expect(stderr).toContain("Images cost money, and their price is unknown.");
  });

  it("takes out what was set about another generator, and says so", async () => {
    const { run, localPorts } = await withServers(KEYS);
    for (const setting of [
      "generator http://gpubox:1234",
      "generatorModel flux",
      "generatorFree true",
      "field steps=20",
      "seed 7",
    ])
      await run(["config", "set", ...setting.split(" ")]);
    const answers = { [question("1-5")]: "4" };
    const { stderr } = await run(["setup"], { terminal: true, localPorts, answers });
    expect(stderr).toContain("generator is now openai, in ");
    expect(stderr).toContain(
      "Removed the settings of the previous generator: generatorModel, field, seed, generatorFree.",
    );
    expect((await run(["config", "get", "generatorFree"])).stdout).toBe("");
  });

  it("changes nothing at Enter, at what is no number of its list, and where the profile is for a service", async () => {
    const { run, localPorts } = await withServers();
    const setup = (answer: string) =>
      run(["setup"], { terminal: true, localPorts, answers: { [question("1-3")]: answer } });
    expect((await setup("")).stderr).toMatch(/^Nothing was changed\.$/m);
    expect((await setup("4")).stderr).toMatch(/^Nothing was changed\.$/m);
    await run(["config", "set", "baseUrl", "https://service.example/api"]);
    expect((await setup("1")).stderr).toContain(
      "This profile uses https://service.example/api, so nothing was changed.",
    );
    expect((await run(["config", "get", "generator"])).stdout).toBe("");
  });

  it("without a terminal changes nothing, and says what to type, which works as it stands", async () => {
    const { run, localPorts, specs } = await withServers();
    const { code, stderr } = await run(["setup"], { localPorts, input: "1\n" });
    expect(code).toBe(0);
    expect(stderr).toContain(`Nothing was changed. To set the default generator:
  imggen config set generator ${specs.automatic}
  imggen config set generator ${specs.comfy} && imggen config set generatorModel dream.safetensors
  imggen config set generator ${specs.openAi}
`);
    expect((await run(["config", "get", "generator"])).stdout).toBe("");
    expect((await run(["config", "set", "generator", specs.automatic])).code).toBe(0);
  });

  it("begins a profile", async () => {
    const { run, json: asJson, localPorts, specs } = await withServers();
    const answers = { [question("1-3")]: "1" };
    const { stderr } = await run(["setup", "--profile", "local"], { terminal: true, localPorts, answers });
    expect(stderr).toContain('Next: imggen generate "a red fox" --profile local');
    const get = ["config", "get", "generator", "--profile", "local"];
    expect((await asJson(get)).document).toMatchObject({ value: specs.automatic });
  });

  it("that finds nothing says what was asked, and how else to begin", async () => {
    const { run } = await commandWorld({}, NO_ACCOUNT);
    const port = await deadPort();
    const { code, stdout, stderr } = await run(["setup"], { terminal: true, localPorts: [port] });
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain(`No image server was found on ports ${port} of this machine`);
    expect(stderr).toContain(`no API key in the environment (${KEY_VARIABLES.join(", ")}).`);
    expect(stderr).toContain("--sandbox");
    expect(stderr).toContain("imggen login");
  });

  it("is what a command without an account names", async () => {
    const { run } = await commandWorld({}, NO_ACCOUNT);
    expect((await run(["generate", "a fox"])).stderr).toContain(
      "To find servers and keys on this machine: imggen setup",
    );
  });
});

describe("a server that answers 401", () => {
  const noKey = json({ detail: "no" }, 401);
  const everywhere: Behaviour = (_request, socket) => void socket.write(noKey);
  const atItsPath: Behaviour = ({ target }, socket) =>
    void socket.write(target.startsWith("/sdapi/") ? noKey : response(404, "nothing here"));
  it.each<[string, Behaviour, (port: number) => string]>([
    ["everywhere", everywhere, (port) => `openai:http://localhost:${port}/v1`],
    ["where its kind is asked", atItsPath, (port) => `sdapi:http://localhost:${port}`],
  ])("%s is there, and the command that stores its key is named", async (_where, behave, specAt) => {
    const { run, json: asJson } = await commandWorld({}, NO_ACCOUNT);
    const { port } = await liveServer(behave);
    const locked = [{ generator: specAt(port), port }];
    expect((await asJson(["setup"], { localPorts: [port] })).document).toMatchObject({ servers: [], locked });
    const { code, stderr } = await run(["setup"], { localPorts: [port] });
    expect([code, stderr]).toEqual([
      0,
      `The server on port ${port} requires a key. To store the key: imggen login --generator ${specAt(port)}\n`,
    ]);
  });
});

describe("what answers otherwise is not taken for a server, within a moment", () => {
  const elsewhere: Behaviour = (_request, socket) =>
    void socket.write(response(302, "", { location: "http://127.0.0.1:1/v1/models" }));
  const endless: Behaviour = (_request, socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n[");
    const more = setInterval(() => socket.write("1,".repeat(1000)), 5);
    socket.on("close", () => clearInterval(more));
  };
  it.each<[string, Behaviour]>([
    ["a page", (_request, socket) => void socket.write(response(200, "<!doctype html><title>8080</title>"))],
    ["a redirect", elsewhere],
    ["nothing", () => {}],
    ["no end", endless],
    ["10 MB", (_request, socket) => void socket.write(response(200, `[${"1,".repeat(5e6)}1]`))],
    ["other JSON", (_request, socket) => void socket.write(json({ data: [1], object: "list" }))],
  ])("%s", async (_what, behave) => {
    const { json: asJson } = await commandWorld({}, NO_ACCOUNT);
    const server = await liveServer(behave);
    const { code, document } = await asJson(["setup"], { localPorts: [server.port] });
    expect([code, document.servers]).toEqual([0, []]);
  });

  it("a model's name cannot act on the terminal, or fill it", async () => {
    const { run } = await commandWorld({}, NO_ACCOUNT);
    const server = await liveServer(
      (_request, socket) =>
        void socket.write(modelList("\u001b]0;owned\u0007\u001b[2J\u202eflux", "x".repeat(100_000))),
    );
    const { stdout, stderr } = await run(["setup"], { localPorts: [server.port] });
    expect(stdout).toContain("\\x1b]0;owned\\x07\\x1b[2J\\u{202e}flux");
    expect(stdout + stderr).not.toMatch(/\u001b|\u202e|x{1000}/);
  });
});
