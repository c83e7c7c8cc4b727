import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../src/lib/interrupted.ts";
import { MODELS } from "../../src/models/matrix.ts";
import { mergeMatrix } from "../../src/models/matrix-file/read-matrix.ts";
import { FIELD_NAMES } from "../../src/task/request-fields.ts";
import { CANARY } from "../support/canary.ts";
import { generatorWorld, makesImage, modelList } from "../support/generator-world.ts";
import { runCommand } from "../support/in-process.ts";
import { failure } from "../support/scripted-server.ts";
import { replies } from "../support/scripts.ts";
import { withConfig } from "../support/settings-file.ts";
import {
  accountFolders,
  agent,
  answered,
  FOX,
  mcpFolders,
  sandboxAgent,
  sandboxHistory,
  serviceAgent,
} from "./mcp-world.ts";

const SLOW = { ...FOX, prompt: "a fox [sandbox:slow=1m]" };

describe("the tools", () => {
  it("are listed with schemas made from the matrix and the fields of a request", async () => {
    const { client } = await sandboxAgent();
    const { tools } = await client.listTools();
    const names = "generate_image get_task list_models estimate_cost resume_tasks history";
    expect(tools.map(({ name }) => name).join(" ")).toBe(names);
    const { properties = {}, required } = tools[0]?.inputSchema ?? {};
    expect(Object.keys(properties)).toEqual(expect.arrayContaining([...FIELD_NAMES]));
    expect(properties).toMatchObject({
      model: { enum: MODELS.map(({ id }) => id) },
      ...{ reuse: { default: true }, waitSeconds: { default: 45 } },
    });
    expect(required).toEqual(["prompt"]);
  });

  it("have schemas of the keywords alone that every client knows, each argument with a type and words", async () => {
    const { client } = await sandboxAgent();
    const { tools } = await client.listTools();
    const type = expect.stringMatching(/^(string|integer|boolean|array)$/);
    const known = ["type", "items", "enum", "description", "default", "minimum", "maximum"];
    for (const { inputSchema } of tools) {
      const { properties = {}, required: _required, ...more } = inputSchema;
      expect(more).toEqual({ type: "object" });
      for (const argument of Object.values(properties)) {
        expect(argument).toMatchObject({ type, description: expect.stringMatching(/\.$/) });
        expect(known).toEqual(expect.arrayContaining(Object.keys(argument as object)));
      }
    }
  });

  it("serve a client of the newest revision of the protocol as well", async () => {
    const folders = await mcpFolders();
    const client = { versionNegotiation: { mode: "auto" } } as const;
    const { call, client: connected } = await agent({ ...folders, client });
    expect(connected.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    expect((await call("list_models")).document.models).toHaveLength(MODELS.length);
  });
});

describe("a matrix file", () => {
  it("adds models to every tool, and its highest cost is what an undocumented one counts as", async () => {
    const entries = [{ id: "new/one", credits: { default: 15 } }, { id: "new/two" }];
    const folders = await accountFolders(mergeMatrix(entries));
    await writeFile(path.join(folders.cwd, "models.json"), JSON.stringify(entries));
    const env = { ...folders.env, IMGGEN_MATRIX: "models.json" };
    const { call, client } = await agent({ ...folders, flags: [], env });
    const { tools } = await client.listTools();
    const model = { enum: expect.arrayContaining(["new/one"]) };
    for (const tool of ["generate_image", "estimate_cost", "history"])
      expect(tools.find(({ name }) => name === tool)?.inputSchema.properties).toMatchObject({ model });
    expect((await call("list_models")).document.models).toHaveLength(MODELS.length + 2);
    const { prompt } = FOX;
    const undocumented = { prompt, model: "new/two", allowUndocumentedCost: true, waitSeconds: 300 };
    const document = { session: { credits: 15 } };
    expect(await call("generate_image", undocumented)).toMatchObject({ document });
    expect(await call("generate_image", { prompt, model: "new/one" })).toMatchObject({
      isError: true,
      document,
    });
  });

  it("that is wrong ends the server before it serves", async () => {
    const options = { ...(await mcpFolders()), env: { IMGGEN_MATRIX: "none.json" }, input: "" };
    const { code, stderr } = await runCommand(["mcp", "--sandbox"], options);
    expect(code).toBe(2);
    expect(stderr).toContain("none.json cannot be used: no such file or folder (ENOENT).");
  });
});

describe("a call with wrong arguments is answered with what is wrong, so that a model can correct itself", () => {
  it.each([
    ["generate_image", {}, /prompt is required/],
    ["generate_image", { ...FOX, prompt: 5 }, /prompt/],
    ["generate_image", { ...FOX, prompt: null }, /prompt/],
    ["generate_image", { ...FOX, model: "gama" }, /model must be .*gamma-image-2/],
    ["generate_image", { ...FOX, quality: "9K" }, /quality must be .*4K/],
    ["generate_image", { ...FOX, qualty: "2K" }, /qualty/],
    ["generate_image", { ...FOX, maxImages: 16 }, /maxImages must be .*15/],
    ["generate_image", { ...FOX, waitSeconds: -1 }, /waitSeconds/],
    ["generate_image", { ...FOX, image: [] }, /image must not be empty/],
    ["generate_image", { ...FOX, image: [5] }, /image must be a string or a list of strings/],
    ["generate_image", { ...FOX, seed: "x" }, /seed must be a whole number/],
    ["generate_image", { ...FOX, fields: { steps: 20 } }, /fields must be a string or a list of strings/],
    [
      "generate_image",
      { qualty: "2K", waitSeconds: 601 },
      /prompt is required.*waitSeconds must be 0 to 600.*qualty/,
    ],
    ["get_task", { taskId: "" }, /taskId/],
    ["history", { status: "done" }, /status must be .*completed/],
    ["list_models", { kind: "video" }, /kind/],
  ])("%s %j", async (name, args, message) => {
    const { call } = await sandboxAgent();
    const hint = expect.stringContaining("Nothing was sent.");
    const error = { type: "usage", message: expect.stringMatching(message), hint };
    expect(await call(name, args)).toMatchObject({ isError: true, document: { charged: "no", error } });
  });

  it("but an unknown tool is a protocol error, which names those that there are", async () => {
    const { call, client } = await sandboxAgent();
    const message = expect.stringMatching(/There is no tool "draw".*generate_image/);
    await expect(call("draw")).rejects.toMatchObject({ code: -32602, message });
    expect(await client.ping()).toEqual({});
  });

  it("arguments may be left out altogether, and null stands for one that is left out", async () => {
    const { call, client } = await sandboxAgent();
    expect(answered(await client.callTool({ name: "history" })).document).toMatchObject({ tasks: [] });
    const nulls = { ratio: null, image: null, output: null, waitSeconds: null, reuse: null, preview: null };
    expect(await call("generate_image", { ...FOX, ...nulls })).toMatchObject({ isError: false });
    const listed = await call("history", { limit: null, search: null, status: null });
    expect(listed).toMatchObject({ isError: false, document: { tasks: [{}] } });
    expect(await call("list_models", { kind: null, references: null })).toMatchObject({ isError: false });
  });
});

describe("settings that cannot be read", () => {
  it("fail each call until they are mended, and end nothing", async () => {
    const { home, call } = await sandboxAgent();
    const settings = await withConfig({ home }, "{");
    expect(await call("list_models")).toMatchObject({
      isError: true,
      document: { charged: "no", error: { type: "usage", message: expect.stringContaining(settings) } },
    });
    await withConfig({ home }, {});
    expect(await call("list_models")).toMatchObject({ isError: false });
  });
});

describe("a signal", () => {
  it("ends the server, and leaves the task of a call that waits", async () => {
    const folders = await accountFolders();
    const stop = new AbortController();
    const { call, leave } = await agent({ ...folders, flags: [], signal: stop.signal });
    const answer = await call("generate_image", SLOW, {
      onprogress: ({ message }) =>
        message?.startsWith("Waiting") && stop.abort(new InterruptedError("SIGTERM")),
    });
    expect(answer).toMatchObject({
      isError: true,
      document: { charged: "yes", error: { type: "interrupted" }, next: expect.stringContaining("get_task") },
    });
    expect(await leave()).toBe(143);
    expect(await sandboxHistory(folders)).toMatchObject([{ status: "running", charged: "yes" }]);
  });

  it("that came before the client ends it too", async () => {
    const signal = AbortSignal.abort(new InterruptedError("SIGINT"));
    expect((await runCommand(["mcp", "--sandbox"], { ...(await mcpFolders()), signal })).code).toBe(130);
  });
});

describe("with a real account", () => {
  it("no message holds the key, whatever the service echoes", async () => {
    const { call, server } = await serviceAgent({ submit: replies(failure(`refused ${CANARY}`)) });
    const { document } = await call("generate_image", FOX);
    expect(document).toMatchObject({ ok: false, charged: "no" });
    expect(server.submits()).toHaveLength(1);
  });

  it("there are models and costs without one, and a clear word on what is missing", async () => {
    const { call } = await agent({ ...(await mcpFolders()), flags: [] });
    expect((await call("estimate_cost", FOX)).document).toMatchObject({ credits: 2 });
    const { document } = await call("generate_image", FOX);
    expect(document.error).toMatchObject({
      type: "usage",
      hint: expect.stringContaining("ask the user to start this server in its sandbox"),
    });
    expect(JSON.stringify(document)).not.toMatch(/ --[a-z]/);
  });
});

it("where the folder that it was started in cannot be written to, images go elsewhere, and answers say where", async () => {
  const { home } = await mcpFolders();
  const { call } = await agent({ home, cwd: "/proc", env: { HOME: home } });
  const { isError, document } = await call("generate_image", FOX);
  expect(isError).toBe(false);
  const folder = path.dirname(String(document.files?.["0"]?.path));
  expect(folder.startsWith(path.join(home, "state", "images"))).toBe(true);
  expect(document.folder).toBe(`/proc cannot be written to, so images are saved in ${folder}.`);
  await mkdir(path.join(home, "Pictures"));
  const second = (await call("generate_image", { ...FOX, prompt: `${FOX.prompt} 2` })).document;
  expect(path.dirname(String(second.files?.["0"]?.path))).toBe(path.join(home, "Pictures", "imggen"));
});

describe("with a generator of the user's own", () => {
  const generatorAgent = async (models?: Buffer) => {
    const { generator } = await generatorWorld(makesImage, models);
    const env = { IMGGEN_GENERATOR: generator.origin };
    const { call } = await agent({ ...(await mcpFolders()), flags: [], env });
    return { call, sent: () => generator.submits().map(({ body }) => JSON.parse(body)) };
  };

  it("takes its fields as name=value, objects and lists in JSON, and a long seed", async () => {
    const { call, sent } = await generatorAgent();
    const fields = ["steps=20", "sampler_name=DPM++ 2M", 'loras=[{"path":"fox"}]'];
    expect(await call("generate_image", { prompt: "a fox", fields })).toMatchObject({ isError: false });
    const loras = [{ path: "fox" }];
    expect(sent()).toMatchObject([{ steps: 20, sampler_name: "DPM++ 2M", loras }]);
    for (const [field, said] of [
      ["steps", 'fields: "steps" must be like steps=20.'],
      ["loras=[{", "fields: the value of loras is not JSON"],
    ] as const) {
      const error = { type: "usage", message: expect.stringContaining(said) };
      expect(await call("estimate_cost", { prompt: "a fox", fields: [field] })).toMatchObject({
        isError: true,
        document: { charged: "no", error },
      });
    }
    for (const [seed, read] of [
      ["18446744073709551615", "18446744073709551615"],
      ["7", 7],
      [7, 7],
    ])
      expect((await call("estimate_cost", { prompt: "a fox", seed })).document.request?.seed).toBe(read);
  });

  it("a key that is stored, or changed, is used by the next call", async () => {
    const world = await generatorWorld();
    const folders = await mcpFolders();
    await runCommand(["config", "set", "generator", world.generator.origin], folders);
    const { call } = await agent({ ...folders, flags: [] });
    const keys: (string | undefined)[] = [];
    for (const key of ["", "first-key", "second-key"]) {
      const login = ["login", "--generator", world.generator.origin, "--no-verify"];
      await runCommand(login, { ...folders, input: `${key}\n` });
      expect(await call("generate_image", { prompt: `a fox ${key}` })).toMatchObject({ isError: false });
      keys.push(world.generator.submits().at(-1)?.headers.authorization);
    }
    expect(keys).toEqual([undefined, "Bearer first-key", "Bearer second-key"]);
  });

  it("list_models has its models, and generate_image takes these alone", async () => {
    const { call, sent } = await generatorAgent(modelList("flux", "flux-of-today"));
    const models = [{ id: "flux" }, { id: "flux-of-today" }];
    expect((await call("list_models")).document).toMatchObject({ models });
    const made = await call("generate_image", { prompt: "a fox", model: "flux-of-today" });
    expect(made).toMatchObject({ isError: false, document: { request: { model: "flux-of-today" } } });
    const refused = await call("generate_image", { prompt: "a fox", model: "flux-of-tomorrow" });
    expect(refused).toMatchObject({ isError: true, document: { error: { type: "invalid_request" } } });
    expect(sent()).toMatchObject([{ model: "flux-of-today" }]);
  });
});
