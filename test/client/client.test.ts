import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from "vitest";
import { createClient, type ErrorDetail, ImggenFailure, type TaskResult } from "../../src/client/index.ts";
import { CANARY } from "../support/canary.ts";
import { png, sha256 } from "../support/images.ts";
import { runCommand } from "../support/in-process.ts";
import { failure } from "../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning } from "../support/scripts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { clientWorld, failureOf } from "./client-world.ts";

const FOX = { prompt: "a fox", model: "gamma-image-2", quality: "1K" } as const;
const SOON = { ...FOX, pollIntervalMs: 100 };

function failing(): void {
  throw new Error("no display");
}

describe("a client", () => {
  it("generates as the command line does: the same ledger, the same files, the same words", async () => {
    const { client, output, home, server } = await clientWorld();
    const events: string[] = [];
    const onProgress = ({ type }: { type: string }) => events.push(type);
    const image = await client().generate({ ...SOON, output, onProgress });
    const [file] = image.files;
    expect(events).toEqual(["recorded", "submitting", "accepted", "waiting", "downloading", "saved"]);
    expect(image).toMatchObject({ ok: true, status: "completed", credits: 2, charged: "yes", request: FOX });
    expect(sha256(await readFile(file?.path ?? ""))).toBe(file?.sha256);
    const { stdout } = await runCommand(["history", "--json"], { home });
    const [{ id: _id, service, ...told }] = JSON.parse(stdout);
    expect(service).toBe(server.baseUrl);
    expect(image).toMatchObject(told);
  });

  it.each([
    ["throws", () => failing()],
    ["rejects", async () => failing()],
  ])("goes on where a listener %s, and says so once", async (_how, onProgress) => {
    const { client, output, server } = await clientWorld();
    const image = await client().generate({ ...SOON, output, onProgress });
    expect(image).toMatchObject({ ok: true, charged: "yes", files: [{ bytes: png().length }] });
    expect(image.warnings).toEqual(["onProgress failed: no display. The call continued."]);
    expect(server.submits()).toHaveLength(1);
  });

  it("returns once the task is accepted where it is not to wait, and polls it when it is asked for", async () => {
    const { client, output } = await clientWorld();
    const imggen = client();
    const task = await imggen.generate({ ...SOON, output, wait: false });
    expect(task).toMatchObject({ status: "submitted", files: [] });
    const taskId = task.taskId ?? "";
    expect(await imggen.status(taskId)).toMatchObject({ ok: true, status: "completed", files: [] });
    const resumed = await imggen.resume([], { pollIntervalMs: 100 });
    expect(resumed).toMatchObject({ ok: true, tasks: [{ taskId, files: [{ bytes: png().length }] }] });
    expect(await imggen.resume([], { pollIntervalMs: 100 })).toEqual({ ok: true, tasks: [] });
  });

  it("continues a task that is charged and unfinished, unless asked to submit again", async () => {
    const { client, output, server } = await clientWorld();
    const imggen = client();
    const first = await imggen.generate({ ...SOON, output, wait: false });
    expect(await imggen.generate({ ...SOON, output })).toMatchObject({ taskId: first.taskId, reused: true });
    await imggen.generate({ ...SOON, output, wait: false });
    await imggen.generate({ ...SOON, output, again: true });
    expect(server.submits()).toHaveLength(3);
  });

  it("takes URLs of reference images alone, where an upload command is set too", async () => {
    const { client, home, server } = await clientWorld();
    await runCommand(["config", "set", "uploadCommand", "/no/such/command {file}"], { home });
    const { error } = await failureOf(client().generate({ ...SOON, image: "/etc/hostname" }));
    expect(error).toMatchObject({
      type: "invalid_request",
      message: expect.stringContaining("/etc/hostname is not an http(s) URL"),
    });
    expect(server.requests).toEqual([]);
  });

  it("finds the earlier task of a request, and submits nothing where there is none", async () => {
    const { client, output, server } = await clientWorld();
    const imggen = client();
    expect(await imggen.reuse(SOON)).toBeNull();
    const { taskId, files } = await imggen.generate({ ...SOON, output });
    expect(await imggen.reuse(SOON)).toMatchObject({ taskId, files, reused: true });
    expect(await imggen.generate({ ...SOON, output, reuse: true })).toMatchObject({ taskId, reused: true });
    expect(server.submits()).toHaveLength(1);
  });

  it("lists what was charged as `history --json` does, by the same filters", async () => {
    const { client, output, home, server } = await clientWorld();
    const imggen = client();
    await imggen.generate({ ...SOON, output });
    await imggen.generate({ ...SOON, prompt: "an owl", output });
    const { stdout } = await runCommand(["history", "--json"], { home });
    expect((await imggen.history()).tasks).toEqual(JSON.parse(stdout));
    const owls = await imggen.history({
      search: "OWL",
      status: "completed",
      model: "gamma-image-2",
      since: "1h",
    });
    expect(owls.tasks).toMatchObject([{ request: { prompt: "an owl" }, service: server.baseUrl }]);
    expect((await imggen.history({ limit: 1 })).tasks).toHaveLength(1);
    expect((await failureOf(imggen.history({ since: "soon" }))).message).toBe(
      'history: since "soon" is neither a date nor an age.',
    );
  });

  it("needs no account in the sandbox", async () => {
    const home = await temporaryFolder();
    await using imggen = createClient({ sandbox: true, home });
    const { files } = await imggen.generate({ ...SOON, output: `${home}/` });
    expect(files).toMatchObject([{ mediaType: "image/png", width: 1024 }]);
  });

  it("sees at its next call a login that came since, with another key too", async () => {
    const { home, server } = await clientWorld();
    await using imggen = createClient({ home });
    const generate = () => imggen.generate({ ...SOON, output: `${home}/` });
    expect((await failureOf(generate())).charged).toBe("no");
    for (const key of [CANARY, `${CANARY}-2`]) {
      const login = ["login", "--no-verify", "--base-url", server.baseUrl];
      await runCommand(login, { home, env: { IMGGEN_BASE_URL: "" }, input: `${key}\n` });
      await generate();
      expect(server.submits().at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    }
  });

  it("goes through the proxies of the environment, which never see the key", async () => {
    const { client, output } = await clientWorld();
    const proxy = await tunnelProxy("refuse");
    vi.stubEnv("https_proxy", proxy.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const elsewhere = client({ baseUrl: "https://service.example/api" });
    await expect(elsewhere.generate({ ...SOON, output })).rejects.toMatchObject({
      error: { type: "network" },
    });
    expect(proxy.heads.length).toBeGreaterThan(0);
    for (const head of proxy.heads) expect(head).toMatch(/^CONNECT service\.example:443 /);
    expect(proxy.heads.join("\n")).not.toContain(CANARY);
  });

  it("knows models and costs without a connection", async () => {
    const imggen = createClient({ home: await temporaryFolder() });
    expect(imggen.models({ quality: "4K" }).map(({ id }) => id)).toContain("gamma-image-2");
    expect(imggen.models({ quality: "4K" }).every((model) => model.qualities?.includes("4K"))).toBe(true);
    expect(imggen.estimate({ ...FOX, quality: "4k", image: "https://example.com/a.png" })).toMatchObject({
      request: { quality: "4K", image: "https://example.com/a.png" },
      credits: 8,
    });
  });
});

describe("a matrix file", () => {
  it("adds models for one client, and not for another", async () => {
    const { client, home, output, server } = await clientWorld();
    const matrix = path.join(home, "models.json");
    await writeFile(matrix, '[{ "id": "new/one", "credits": { "default": 5 } }]');
    const imggen = client({ matrix });
    expect(imggen.models().at(-1)).toMatchObject({ id: "new/one", maxImages: null });
    expect(imggen.estimate({ prompt: "a fox", model: "one" }).credits).toBe(5);
    const { credits } = await imggen.generate({ prompt: "a fox", model: "one", output, pollIntervalMs: 100 });
    expect({ credits, submits: server.submits().length }).toEqual({ credits: 5, submits: 1 });
    expect(() => client().estimate({ prompt: "a fox", model: "one" })).toThrow(/not a known model/);
  });

  it("that is wrong is no option that a client can be made with", async () => {
    const { client, home } = await clientWorld();
    const matrix = path.join(home, "none.json");
    expect(() => client({ matrix })).toThrow(ImggenFailure);
    expect(() => client({ matrix })).toThrow(
      /none\.json cannot be used: no such file or folder \(ENOENT\)\.$/,
    );
  });

  it("of the environment that is wrong is a usage error of every call that needs models, and of no other", async () => {
    const { client, home, server } = await clientWorld();
    const matrix = path.join(home, "models.json");
    await writeFile(matrix, '[{ "id": "new/one", "credits": { "default": -5 } }]');
    vi.stubEnv("IMGGEN_MATRIX", matrix);
    onTestFinished(() => void vi.unstubAllEnvs());
    const imggen = client();
    const message = `The model matrix ${matrix} cannot be used: models[0].credits.default must be a whole number of 0 or more, not -5.`;
    expect(() => imggen.models()).toThrow(ImggenFailure);
    expect(() => imggen.models()).toThrow(message);
    expect(await failureOf(imggen.generate(FOX))).toMatchObject({
      message,
      error: { type: "usage" },
      charged: "no",
    });
    expect(server.submits()).toEqual([]);
    expect(await imggen.resume()).toMatchObject({ ok: true });
  });
});

describe("a failure", () => {
  it("is the document that the command line prints, thrown", async () => {
    const submit = replies(failure("my_credits.no_credits_description"));
    const { client, output, server, home } = await clientWorld({ submit });
    const thrown = await failureOf(client().generate({ ...SOON, output }));
    const env = { IMGGEN_BASE_URL: server.baseUrl, IMGGEN_API_KEY: CANARY };
    const command = ["generate", "a fox", "-m", FOX.model, "-q", "1K", "-o", output, "--json"];
    const { stdout, code } = await runCommand(command, { home, env });
    expect(JSON.parse(JSON.stringify(thrown))).toEqual(JSON.parse(stdout));
    expect(thrown.error).toMatchObject({ type: "insufficient_credits", exitCode: code });
    expect(thrown.message).toBe(thrown.error.message);
  });

  it("has a type that decides the exit code, also for the compiler", () => {
    expectTypeOf<Extract<ErrorDetail, { type: "pending" }>["exitCode"]>().toEqualTypeOf<6>();
    expectTypeOf<Extract<ErrorDetail, { exitCode: 4 }>["type"]>().toEqualTypeOf<
      "insufficient_credits" | "subscription_required"
    >();
    expectTypeOf<Extract<TaskResult, { ok: true }>>().toHaveProperty("status");
    expectTypeOf<Extract<TaskResult, { ok: false }>>().toHaveProperty("error");
  });
});

it("what would cost more than is allowed is not sent by the day's limit of the home, whoever spends", async () => {
  const { client, output, home, server } = await clientWorld();
  await runCommand(["config", "set", "dailyCredits", "3"], { home });
  const imggen = client();
  await imggen.generate({ ...SOON, output });
  const thrown = await failureOf(imggen.generate({ ...SOON, prompt: "an owl", output }));
  expect(thrown.error.type).toBe("budget_exceeded");
  expect(server.submits()).toHaveLength(1);
});

describe("what cannot be used is a typed error, and nothing is sent", () => {
  const untyped = (value: unknown) => value as never;

  it.each([
    ["no options", undefined, "usage"],
    ["no prompt", {}, "usage"],
    ["a prompt that is a number", { prompt: 3 }, "usage"],
    ["an unknown option", { prompt: "a fox", qualty: "2K" }, "usage"],
    ["a signal that is none", { prompt: "a fox", signal: {} }, "usage"],
    ["a timeout that is a text", { prompt: "a fox", timeoutMs: "5m" }, "usage"],
    ["no time at all", { prompt: "a fox", timeoutMs: 0 }, "usage"],
    ["a poll interval that the service would not like", { prompt: "a fox", pollIntervalMs: 5 }, "usage"],
    ["standard output", { prompt: "a fox", output: "-" }, "usage"],
    ["an unknown model", { prompt: "a fox", model: "gama" }, "invalid_request"],
    ["a blank prompt", { prompt: " " }, "invalid_request"],
  ])("%s", async (_what, options, type) => {
    const { client, server } = await clientWorld();
    const thrown = await failureOf(client().generate(untyped(options)));
    expect(thrown).toMatchObject({ ok: false, charged: "no", error: { type, exitCode: 2 } });
    expect(server.requests).toEqual([]);
  });

  it.each([
    [{ baseUrl: 5 }],
    [{ baseUrl: "http://example.com" }],
    [{ apiKey: "no key" }],
    [{ sandbox: true, apiKey: CANARY }],
    [{ unknown: 1 }],
    [null],
  ])("a client of %j", (options) => {
    expect(() => createClient(untyped(options))).toThrow(ImggenFailure);
  });

  it("an id that is none", async () => {
    const { client, server } = await clientWorld();
    const imggen = client();
    for (const call of [imggen.status(untyped(5)), imggen.status(""), imggen.resume(untyped([5]))])
      expect((await failureOf(call)).error.type).toBe("usage");
    expect(server.requests).toEqual([]);
  });

  it("a client without an account", async () => {
    const home = await temporaryFolder();
    await using imggen = createClient({ home, baseUrl: "https://service.example/api" });
    const thrown = await failureOf(imggen.generate({ ...SOON, output: `${home}/` }));
    expect(thrown.error).toMatchObject({ type: "auth_required", exitCode: 3 });
  });
});

/** A world whose tasks take one poll longer. */
const waitingWorld = () => clientWorld({ poll: inTurn(stillRunning, completedAt("/1.png")) });

describe("a call that is stopped", () => {
  it("before it began costs nothing", async () => {
    const { client, output, server } = await clientWorld();
    const signal = AbortSignal.abort(new Error("the user has left"));
    const thrown = await failureOf(client().generate({ ...SOON, output, signal }));
    expect(thrown).toMatchObject({ charged: "no", error: { type: "interrupted" } });
    expect(thrown.message).not.toContain("SIGINT");
    expect(server.requests).toEqual([]);
  });

  it("is one of many that share a signal, without a warning of too many listeners", async () => {
    const { client } = await clientWorld();
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    onTestFinished(() => void process.off("warning", note));
    const imggen = client();
    const leaving = new AbortController();
    const { signal } = leaving;
    const calls = Array.from({ length: 30 }, () => imggen.status("task-1", { signal, wait: true }));
    leaving.abort();
    for (const { ok } of await Promise.all(calls)) expect(ok).toBe(false);
    // A warning is told in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  });

  it("while it waits names the task, which resume saves", async () => {
    const { client, output, server } = await waitingWorld();
    const imggen = client();
    const leaving = new AbortController();
    const onProgress = ({ type }: { type: string }) => {
      if (type === "waiting") leaving.abort();
    };
    const call = imggen.generate({ ...SOON, output, signal: leaving.signal, onProgress });
    const { error, charged, taskId, resume } = await failureOf(call);
    expect({ type: error.type, charged, resume }).toEqual({
      type: "interrupted",
      charged: "yes",
      resume: `imggen resume ${taskId}`,
    });
    const resumed = await imggen.resume([taskId ?? ""], { pollIntervalMs: 100 });
    expect(resumed).toMatchObject({ ok: true, tasks: [{ taskId }] });
    expect(server.submits()).toHaveLength(1);
  });

  it("by closing the client loses nothing either, and the client takes no more", async () => {
    const { client, output, server } = await waitingWorld();
    const imggen = client();
    const waits = new Promise<void>((resolve) => {
      void failureOf(
        imggen.generate({ ...SOON, output, onProgress: (event) => event.type === "waiting" && resolve() }),
      );
    });
    await waits;
    await imggen.close();
    for (const call of [
      imggen.generate({ ...SOON, output }),
      imggen.resume([], { pollIntervalMs: 100 }),
      imggen.status("task-1"),
    ])
      expect((await failureOf(call)).error).toMatchObject({
        type: "usage",
        message: "The client is closed.",
      });
    const resumed = await client().resume([], { pollIntervalMs: 100 });
    expect(resumed).toMatchObject({ ok: true, tasks: [{ charged: "yes" }] });
    expect(server.submits()).toHaveLength(1);
    await imggen.close();
  });
});
