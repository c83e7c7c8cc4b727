import { once } from "node:events";
import { readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { withPreviews } from "../../src/mcp/answer.ts";
import { highestCost } from "../../src/models/cost.ts";
import { MODELS } from "../../src/models/matrix.ts";
import { FIELD_NAMES } from "../../src/task/request-fields.ts";
import { inspect } from "../lib/image/builders.ts";
import { CANARY } from "../support/canary.ts";
import { generatorWorld } from "../support/generator-world.ts";
import { png } from "../support/images.ts";
import { runCommand } from "../support/in-process.ts";
import { liveService } from "../support/live-server.ts";
import { failure, response, success } from "../support/scripted-server.ts";
import { inTurn, replies, silence } from "../support/scripts.ts";
import { agent, mcpFolders } from "./mcp-world.ts";

/** A task of the sandbox that takes no time, so that no test waits longer than it must. */
const PROMPT = "a fox [sandbox:slow=0]";
const FOX = { prompt: PROMPT, model: "gamma-image-2", quality: "1K" };
const SLOW = { ...FOX, prompt: "a fox [sandbox:slow=1m]" };

/** An agent in a sandbox of its own. */
async function sandboxAgent(flags: readonly string[] = []) {
  const folders = await mcpFolders();
  return { ...folders, ...(await agent({ ...folders, flags: ["--sandbox", ...flags] })) };
}

const historyOf = async ({ home, cwd }: { home: string; cwd: string }) =>
  JSON.parse((await runCommand(["history", "--json", "--sandbox"], { home, cwd })).stdout);

describe("the tools", () => {
  it("are listed with schemas made from the matrix and the fields of a request", async () => {
    const { client } = await sandboxAgent();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "generate_image",
      "get_task",
      "list_models",
      "estimate_cost",
      "resume_tasks",
      "history",
    ]);
    const [generate] = tools;
    const properties = generate?.inputSchema.properties ?? {};
    for (const name of FIELD_NAMES) expect(properties).toHaveProperty(name);
    expect(properties.model).toMatchObject({ enum: MODELS.map(({ id }) => id) });
    expect(properties).toMatchObject({ reuse: { default: true }, waitSeconds: { default: 45 } });
    expect(generate?.inputSchema.required).toEqual(["prompt"]);
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
    const folders = await mcpFolders();
    const entries = [{ id: "new/one", credits: { default: 15 } }, { id: "new/two" }];
    await writeFile(path.join(folders.cwd, "models.json"), JSON.stringify(entries));
    const env = { IMGGEN_MATRIX: "models.json" };
    const { call, client } = await agent({ ...folders, flags: ["--sandbox"], env });
    const { tools } = await client.listTools();
    for (const tool of ["generate_image", "estimate_cost", "history"]) {
      const { inputSchema } = tools.find(({ name }) => name === tool) ?? {};
      expect(inputSchema?.properties?.model).toMatchObject({ enum: expect.arrayContaining(["new/one"]) });
    }
    expect((await call("list_models")).document.models).toHaveLength(MODELS.length + 2);
    const undocumented = {
      prompt: PROMPT,
      model: "new/two",
      allowUndocumentedCost: true,
      waitSeconds: 300,
    };
    expect((await call("generate_image", undocumented)).document).toMatchObject({ session: { credits: 15 } });
    const { isError, document } = await call("generate_image", { prompt: PROMPT, model: "new/one" });
    expect({ isError, document }).toMatchObject({ isError: true, document: { session: { credits: 15 } } });
  });

  it("that is wrong ends the server before it serves", async () => {
    const folders = await mcpFolders();
    const { code, stderr } = await runCommand(["mcp", "--sandbox"], {
      ...folders,
      env: { IMGGEN_MATRIX: "none.json" },
      input: "",
    });
    expect(code).toBe(2);
    expect(stderr).toContain("none.json cannot be used: no such file or folder (ENOENT).");
  });
});

describe("generate_image", () => {
  it("saves the image and says what it cost, and what the session has spent", async () => {
    const { call, cwd } = await sandboxAgent();
    const { document, isError } = await call("generate_image", { ...FOX, output: "pictures/" });
    expect(isError).toBe(false);
    expect(document).toMatchObject({
      ok: true,
      status: "completed",
      credits: 2,
      charged: "yes",
      request: FOX,
    });
    expect(document.session).toEqual({ maxCredits: 20, credits: 2, undocumentedRequests: 0 });
    const file = String(document.files?.["0"]?.path);
    expect(path.dirname(file)).toBe(path.join(cwd, "pictures"));
    expect(await inspect(await readFile(file))).toMatchObject({ ok: true });
    expect(JSON.stringify(document)).not.toContain("signature");
  });

  it.each(["../x.png", "/tmp/x.png", "a/../../x.png", "out/x.png", ""])(
    "refuses output %j, which is outside its folder",
    async (output) => {
      const { call, cwd, home } = await sandboxAgent();
      await symlink(home, path.join(cwd, "out"));
      const { isError, document } = await call("generate_image", { ...FOX, output });
      expect({ isError, document }).toMatchObject({
        isError: true,
        document: { charged: "no", error: { type: "usage", message: expect.stringContaining("output") } },
      });
    },
  );

  it("takes an output relative to --output", async () => {
    const { call, cwd } = await sandboxAgent(["--output", "pictures"]);
    const { document } = await call("generate_image", { ...FOX, output: "./foxes/one.png" });
    expect(document.files?.["0"]?.path).toBe(path.join(cwd, "pictures/foxes/one.png"));
  });

  it("sees a login that came after the session began, and after a call that lacked it", async () => {
    const server = await liveService(png());
    const folders = await mcpFolders();
    const { call } = await agent({ ...folders, flags: [] });
    expect((await call("generate_image", FOX)).document.error).toMatchObject({ type: "usage" });
    const login = ["login", "--no-verify", "--base-url", server.baseUrl];
    await runCommand(login, { ...folders, input: `${CANARY}\n` });
    expect((await call("generate_image", FOX)).document).toMatchObject({ ok: true, taskId: "task-1" });
  });

  it("returns its task after the key was changed too, and what the session has spent stays", async () => {
    const server = await liveService(png());
    const folders = await mcpFolders();
    const { call } = await agent({ ...folders, flags: [] });
    const answers = [];
    for (const key of [CANARY, `${CANARY}-2`]) {
      const login = ["login", "--no-verify", "--base-url", server.baseUrl];
      await runCommand(login, { ...folders, input: `${key}\n` });
      answers.push(await call("generate_image", FOX));
    }
    expect(answers[1]?.document).toMatchObject({
      ok: true,
      reused: true,
      files: answers[0]?.document.files,
      session: { credits: 2 },
    });
    expect(server.submits()).toHaveLength(1);
  });

  it("is charged once, however often the same call is made, and at the same time", async () => {
    const { call, ...world } = await sandboxAgent();
    const calls = await Promise.all([call("generate_image", FOX), call("generate_image", FOX)]);
    const again = await call("generate_image", FOX);
    const ids = [...calls, again].map(({ document }) => document.taskId);
    expect(new Set(ids).size).toBe(1);
    expect(again.document).toMatchObject({ reused: true, session: { credits: 2 } });
    expect(await historyOf(world)).toHaveLength(1);
  });

  it("is copied to the file that a further call names, while it is under way and once it is saved", async () => {
    const { call, cwd } = await sandboxAgent();
    const file = (name: string) => path.join(cwd, "pictures", name);
    const calls = await Promise.all(
      ["a.png", "b.png"].map((name) => call("generate_image", { ...FOX, output: `pictures/${name}` })),
    );
    calls.push(await call("generate_image", { ...FOX, output: "pictures/c.png" }));
    expect(calls.map(({ document }) => document.files?.["0"]?.path)).toEqual(
      ["a.png", "b.png", "c.png"].map(file),
    );
    expect(await readFile(file("c.png"))).toEqual(await readFile(file("a.png")));
    expect(calls[2]?.document).toMatchObject({ reused: true, session: { credits: 2 } });
  });

  it("is charged again where that is what it asks for", async () => {
    const { call } = await sandboxAgent();
    const first = await call("generate_image", FOX);
    const second = await call("generate_image", { ...FOX, reuse: false });
    expect(second.document.taskId).not.toBe(first.document.taskId);
    expect(second.document).toMatchObject({ session: { credits: 4 } });
  });

  it("answers with the task's id before the client gives up; the task goes on, and get_task has it", async () => {
    const { call } = await sandboxAgent();
    const { document } = await call("generate_image", {
      ...FOX,
      prompt: "an owl [sandbox:slow=4s]",
      waitSeconds: 20,
    });
    expect(document).toMatchObject({ ok: true, status: "running", charged: "yes", files: [] });
    const taskId = String(document.taskId);
    expect(document.next).toContain(`get_task with taskId "${taskId}"`);
    const saved = await call("get_task", { taskId: taskId.slice(0, 10), waitSeconds: 300 });
    expect(saved.document).toMatchObject({ status: "completed", taskId, session: { credits: 2 } });
    expect(saved.document.files).toHaveLength(1);
  });

  it("reports its progress", async () => {
    const { call } = await sandboxAgent();
    const told: string[] = [];
    await call("generate_image", FOX, { onprogress: ({ message = "" }) => told.push(message) });
    // A download reports its bytes as often as they come.
    expect([...new Set(told.map((message) => message.split(" ", 1)[0]))]).toEqual([
      "Submitting",
      "Accepted",
      "Waiting",
      "Downloading",
      "Saved",
    ]);
  });

  it("leaves a task that can be resumed where the call is cancelled", async () => {
    const { call, client, leave, ...world } = await sandboxAgent();
    const cancelling = new AbortController();
    const cancelled = call("generate_image", SLOW, {
      signal: cancelling.signal,
      onprogress: ({ message }) => message?.startsWith("Waiting") && cancelling.abort(),
    });
    await expect(cancelled).rejects.toThrow();
    const { document } = await call("get_task", {
      taskId: (await historyOf(world))[0].taskId,
      waitSeconds: 0,
    });
    expect(document).toMatchObject({ ok: true, status: "running", charged: "yes" });
    expect(await leave()).toBe(0);
    expect(await historyOf(world)).toMatchObject([{ status: "running", charged: "yes" }]);
  });

  it("includes the image, no larger than 512 pixels, where the call asks for it", async () => {
    const { call } = await sandboxAgent();
    expect((await call("generate_image", FOX)).more).toEqual([]);
    const { more, document } = await call("generate_image", { ...FOX, preview: true });
    const [image] = more;
    if (image?.type !== "image") throw new Error("no image");
    expect(image.mimeType).toBe("image/webp");
    const bytes = Buffer.from(image.data, "base64");
    expect(await inspect(bytes)).toMatchObject({ ok: true, image: { width: 512, height: 512 } });
    expect(JSON.stringify(document)).not.toContain("no preview");
  });

  it("says so in a line where there is no preview", async () => {
    const answer = { result: { ok: true }, paths: [path.join((await mcpFolders()).cwd, "gone.png")] };
    const { result, images } = await withPreviews(answer, true);
    expect(images).toBeUndefined();
    expect(result).toMatchObject({ ok: true, preview: expect.stringMatching(/^There is no preview: .*\.$/) });
  });

  it("takes what the user has set where a call leaves it out", async () => {
    const folders = await mcpFolders();
    await runCommand(["config", "set", "model", "gamma-image-2"], folders);
    await runCommand(["config", "set", "output", "elsewhere/"], folders);
    const { call } = await agent(folders);
    const { document } = await call("generate_image", { prompt: PROMPT, quality: "2K" });
    expect(document.request).toEqual({ prompt: PROMPT, model: "gamma-image-2", quality: "2K" });
    expect(String(document.files?.["0"]?.path)).toContain(path.join(folders.cwd, "elsewhere"));
  });
});

describe("generate_image with a generator of the user's own", () => {
  async function generatorAgent() {
    const { generator } = await generatorWorld();
    const folders = await mcpFolders();
    const { call } = await agent({ ...folders, flags: ["--generator", generator.origin] });
    return { ...folders, generator, call };
  }

  it("takes the files of its output folder as reference images", async () => {
    const { call, cwd, generator } = await generatorAgent();
    await writeFile(path.join(cwd, "fox.png"), png());
    for (const image of ["fox.png", path.join(cwd, "fox.png")]) {
      const { document } = await call("generate_image", { prompt: "a fox in snow", image: [image] });
      expect(document).toMatchObject({ ok: true, credits: 0 });
    }
    expect(generator.submits().map(({ target }) => target)).toEqual(["/v1/images/edits"]);
  });

  it.each(["../secret.png", "link.png", "/etc/hostname", "file:///etc/hostname"])(
    "sends it no other file of the user's: %s",
    async (image) => {
      const { call, cwd, generator } = await generatorAgent();
      await writeFile(path.join(cwd, "../secret.png"), png());
      await symlink("../secret.png", path.join(cwd, "link.png"));
      const { document } = await call("generate_image", { prompt: "a fox", image: [image] });
      expect(document).toMatchObject({ ok: false, charged: "no", error: { type: "usage" } });
      expect(generator.submits()).toEqual([]);
    },
  );
});

describe("an agent's mistakes cost no more than the session's cap", () => {
  it("which is 20 credits by default", async () => {
    const { call } = await sandboxAgent();
    const prompts = ["1", "2", "3"].map((prompt) =>
      call("generate_image", { ...FOX, quality: "4K", prompt: `${PROMPT} ${prompt}` }),
    );
    const answers = await Promise.all(prompts);
    expect(answers.filter(({ isError }) => isError)).toHaveLength(1);
    const refused = answers.find(({ isError }) => isError)?.document;
    expect(refused).toMatchObject({
      charged: "no",
      error: {
        type: "budget_exceeded",
        message: "This session has spent 16 of 20 credits, and this request counts as 8.",
      },
    });
    expect((await call("list_models")).document.session).toMatchObject({ credits: 16 });
  });

  it("from which a request is taken off that was not charged", async () => {
    const { call } = await sandboxAgent();
    const { document, isError } = await call("generate_image", {
      ...FOX,
      prompt: "[sandbox:no-credits] a fox",
    });
    expect(isError).toBe(true);
    expect(document).toMatchObject({
      charged: "no",
      error: { type: "insufficient_credits" },
      session: { credits: 0 },
    });
  });

  it("on which one counts whose outcome is unknown", async () => {
    const { call } = await sandboxAgent();
    const { document } = await call("generate_image", { ...FOX, prompt: "[sandbox:drop] a fox" });
    expect(document).toMatchObject({
      charged: "unknown",
      error: { type: "outcome_unknown" },
      session: { credits: 2 },
    });
  });

  it("and a generator without prices is told how to give it some", async () => {
    const flags = ["--generator", "http://127.0.0.1:9", "--generator-paid", "--generator-model", "flux"];
    const { call } = await agent({ ...(await mcpFolders()), flags });
    const { document } = await call("generate_image", { prompt: PROMPT });
    expect(document.error).toMatchObject({
      type: "budget_exceeded",
      hint: "Nothing was sent. Add its price to your matrix file (imggen help json), or pass allowUndocumentedCost: true; it then counts as 8 credits.",
    });
  });

  it("and a cost that is not documented needs a word of its own", async () => {
    const { call } = await sandboxAgent();
    const refused = await call("generate_image", { prompt: PROMPT });
    expect(refused.document.error).toMatchObject({
      type: "budget_exceeded",
      message: "What vendor1/alpha-2 costs is not documented.",
      hint: expect.stringContaining("Documented costs: gamma-image-2 (2 to 8 credits), "),
    });
    const allowed = await call("generate_image", { prompt: PROMPT, allowUndocumentedCost: true });
    expect(allowed.document).toMatchObject({
      credits: null,
      session: { credits: highestCost(MODELS), undocumentedRequests: 1 },
    });
  });

  it("or a cap above the default", async () => {
    const { call } = await sandboxAgent(["--max-credits", "21"]);
    const { document } = await call("generate_image", { prompt: PROMPT });
    expect(document).toMatchObject({ ok: true, session: { maxCredits: 21, credits: highestCost(MODELS) } });
  });
});

describe("what costs nothing", () => {
  it("is to list models, by what they can do", async () => {
    const { call } = await sandboxAgent();
    const { document } = await call("list_models", { kind: "edit", quality: "4K" });
    expect(document.models).toMatchObject([{ id: "vendor1/alpha-pro" }, { id: "gamma-image-2" }, {}]);
  });

  it("is to check a request, and learn its cost or what is wrong with it", async () => {
    const { call } = await sandboxAgent();
    expect((await call("estimate_cost", FOX)).document).toMatchObject({
      credits: 2,
      session: { credits: 0 },
    });
    const wrong = await call("estimate_cost", { prompt: "a fox", model: "z-image", ratio: "21:9" });
    expect(wrong).toMatchObject({
      isError: true,
      document: { error: { type: "invalid_request" }, charged: "no" },
    });
  });

  it("is to finish what an earlier session has left", async () => {
    const folders = await mcpFolders();
    const earlier = ["generate", PROMPT, "-m", "gamma-image-2", "--no-wait", "--sandbox"];
    const taskId = (await runCommand(earlier, folders)).stdout.trim();
    const { call } = await agent(folders);
    const { document } = await call("resume_tasks");
    expect(document).toMatchObject({ ok: true, session: { credits: 0 } });
    expect(document.tasks).toMatchObject([{ taskId, status: "completed", charged: "yes" }]);
    const past = await call("history", { search: "FOX", limit: 5 });
    expect(past.document.tasks).toMatchObject([{ taskId, status: "completed" }]);
    expect(JSON.stringify(past.document)).not.toContain("signature");
  });

  it("is to wait for an image, of which the download too ends with waitSeconds, and goes on", async () => {
    const arrive = new PassThrough();
    const server = await liveService(png(), {
      file: async (_request, socket) => {
        await once(arrive, "finish");
        socket.write(response(200, png(), { "content-type": "image/png" }));
      },
    });
    const folders = await mcpFolders();
    const env = { IMGGEN_API_KEY: CANARY, IMGGEN_BASE_URL: server.baseUrl };
    await runCommand(["generate", "a fox", "-m", "z-image", "--no-wait"], { ...folders, env });
    const { call } = await agent({ ...folders, flags: [], env });
    const early = await call("get_task", { taskId: "task-1", waitSeconds: 3 });
    expect(early.document).toMatchObject({ ok: true, status: "running", charged: "yes" });
    arrive.end();
    const late = await call("get_task", { taskId: "task-1" });
    expect(late.document).toMatchObject({ ok: true, status: "completed", files: [{}] });
    expect(server.requests.filter(({ target }) => target.startsWith("/files/"))).toHaveLength(1);
  });

  it("is to wait for a second, and no less", async () => {
    const folders = await mcpFolders();
    const earlier = ["generate", PROMPT, "-m", "gamma-image-2", "--no-wait", "--sandbox"];
    const taskId = (await runCommand(earlier, folders)).stdout.trim();
    const { call } = await agent(folders);
    const { document } = await call("get_task", { taskId, waitSeconds: 1 });
    expect(document).toMatchObject({ ok: true, charged: "yes" });
  });

  it("is to resume all for waitSeconds at most, where an image takes longer to arrive, and loses nothing", async () => {
    const image = response(200, png(), { "content-type": "image/png" });
    const server = await liveService(png(), { file: inTurn(silence, replies(image)) });
    const folders = await mcpFolders();
    const env = { IMGGEN_API_KEY: CANARY, IMGGEN_BASE_URL: server.baseUrl };
    await runCommand(["generate", "a fox", "-m", "z-image", "--no-wait"], { ...folders, env });
    const { call } = await agent({ ...folders, flags: [], env });
    const early = await call("resume_tasks", { waitSeconds: 2 });
    expect(early).toMatchObject({
      isError: false,
      document: {
        ok: true,
        tasks: [{ ok: true, status: "running", taskId: "task-1", charged: "yes", next: expect.any(String) }],
      },
    });
    expect((await call("resume_tasks")).document).toMatchObject({
      ok: true,
      tasks: [{ taskId: "task-1", status: "completed", files: [{}] }],
    });
  });

  it("is to finish what an earlier session has left, where one cannot be downloaded and another runs", async () => {
    const server = await liveService(png(), {
      poll: (request, socket) => {
        const resultUrl = `http://${request.headers.host}/files/1.png`;
        const ended = { status: "completed", resultUrl, errorCode: 0 };
        socket.write(success(request.target.includes("task-1") ? ended : { status: "processing" }));
      },
      file: (_request, socket) => void socket.write(response(404, "")),
    });
    const folders = await mcpFolders();
    const env = { IMGGEN_API_KEY: CANARY, IMGGEN_BASE_URL: server.baseUrl };
    for (const prompt of ["a fox", "an owl"])
      await runCommand(["generate", prompt, "-m", "z-image", "--no-wait"], { ...folders, env });
    const { call } = await agent({ ...folders, flags: [], env });
    const { tasks } = (await call("resume_tasks", { waitSeconds: 3 })).document;
    expect(tasks).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ok: false, taskId: "task-1", charged: "yes" }),
        expect.objectContaining({ ok: true, taskId: "task-2", status: "running", charged: "yes" }),
      ]),
    );
  });

  it("is to ask for many tasks of the session at once, without a warning of too many listeners", async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    onTestFinished(() => void process.off("warning", note));
    const { call } = await sandboxAgent(["--max-credits", "30"]);
    const owls = Array.from({ length: 12 }, (_, at) => ({ ...SLOW, prompt: `${SLOW.prompt} ${at}` }));
    await Promise.all(owls.map((owl) => call("generate_image", { ...owl, waitSeconds: 0 })));
    expect((await call("resume_tasks", { waitSeconds: 0 })).document.tasks).toHaveLength(12);
    expect(warnings).toEqual([]);
  });

  it("is to finish what is under way in the session itself", async () => {
    const { call } = await sandboxAgent();
    const slow = { ...FOX, prompt: "an owl [sandbox:slow=2s]", waitSeconds: 0 };
    await call("generate_image", slow);
    const { document } = await call("resume_tasks");
    expect(document.tasks).toMatchObject([{ ok: true, status: "completed", charged: "yes" }]);
    expect(document.session).toMatchObject({ credits: 2 });
  });
});

describe("two sessions at once", () => {
  it("submit one identical request once, and only one of them counts it", async () => {
    const folders = await mcpFolders();
    const sessions = await Promise.all([agent(folders), agent(folders)]);
    const answers = await Promise.all(sessions.map(({ call }) => call("generate_image", FOX)));
    const documents = answers.map(({ document }) => document);
    expect(new Set(documents.map(({ taskId }) => taskId)).size).toBe(1);
    expect(documents.map(({ session }) => session?.credits).sort()).toEqual([0, 2]);
    expect(await historyOf(folders)).toHaveLength(1);
  });
});

describe("a call that cannot be carried out is a protocol error", () => {
  it.each([
    ["generate_image", {}, /prompt: .*Nothing was sent/],
    ["generate_image", { ...FOX, prompt: 5 }, /prompt/],
    ["generate_image", { ...FOX, model: "gama" }, /model: .*gamma-image-2/],
    ["generate_image", { ...FOX, qualty: "2K" }, /qualty/],
    ["generate_image", { ...FOX, maxImages: 16 }, /maxImages: .*15/],
    ["generate_image", { ...FOX, waitSeconds: -1 }, /waitSeconds/],
    ["get_task", { taskId: "" }, /taskId/],
    ["history", { status: "done" }, /status: .*"completed"/],
    ["list_models", { kind: "video" }, /kind/],
    ["draw", {}, /There is no tool "draw"/],
  ])("%s %j", async (name, args, message) => {
    const { call, client } = await sandboxAgent();
    await expect(call(name, args)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(message),
    });
    expect(await client.ping()).toEqual({});
  });
});

describe("with a real account", () => {
  it("no message holds the key, whatever the service echoes", async () => {
    const server = await liveService(png(), { submit: replies(failure(`refused ${CANARY}`)) });
    const folders = await mcpFolders();
    const env = { IMGGEN_API_KEY: CANARY, IMGGEN_BASE_URL: server.baseUrl };
    const { call } = await agent({ ...folders, flags: [], env });
    const { document } = await call("generate_image", FOX);
    expect(document).toMatchObject({ ok: false, charged: "no" });
    expect(server.submits()).toHaveLength(1);
  });

  it("there are models and costs without one, and a clear word on what is missing", async () => {
    const { call } = await agent({ ...(await mcpFolders()), flags: [] });
    expect((await call("estimate_cost", FOX)).document).toMatchObject({ credits: 2 });
    const { document } = await call("generate_image", FOX);
    expect(document.error).toMatchObject({ type: "usage", hint: expect.stringContaining("--sandbox") });
  });
});
