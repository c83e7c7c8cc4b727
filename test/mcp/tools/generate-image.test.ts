import { readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { inspect } from "../../lib/image/builders.ts";
import { CANARY } from "../../support/canary.ts";
import { hurriedClock } from "../../support/fake-clock.ts";
import { generatorWorld } from "../../support/generator-world.ts";
import { png } from "../../support/images.ts";
import { runCommand } from "../../support/in-process.ts";
import { liveService } from "../../support/live-server.ts";
import { type Behaviour, success } from "../../support/scripted-server.ts";
import { completedAt, replies, stillRunning, taskIs } from "../../support/scripts.ts";
import {
  accountFolders,
  agent,
  FOX,
  mcpFolders,
  sandboxAgent,
  sandboxHistory,
  serviceAgent,
} from "../mcp-world.ts";

describe("generate_image", () => {
  it("saves the image and says what it cost, and what the session has spent", async () => {
    const { call, cwd } = await sandboxAgent();
    const { document, isError } = await call("generate_image", { ...FOX, output: "pictures/" });
    const made = { ok: true, status: "completed", credits: 2, charged: "yes", request: FOX };
    expect({ isError, ...document }).toMatchObject({ isError: false, ...made });
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
    const inFolder = await call("generate_image", { ...FOX, prompt: `${FOX.prompt} 2`, output: "." });
    expect(path.dirname(String(inFolder.document.files?.["0"]?.path))).toBe(path.join(cwd, "pictures"));
  });

  it("sees a login that came after a call that lacked it, or changed the key, and what the session has spent stays", async () => {
    const server = await liveService(png());
    const folders = await mcpFolders();
    const { call } = await agent({ ...folders, flags: [] });
    const generate = async () => (await call("generate_image", FOX)).document;
    const loginWith = (key: string) => {
      const login = ["login", "--no-verify", "--base-url", server.baseUrl];
      return runCommand(login, { ...folders, input: `${key}\n` });
    };
    expect((await generate()).error).toMatchObject({ type: "usage" });
    await loginWith(CANARY);
    const { files, ...made } = await generate();
    expect(made).toMatchObject({ ok: true, taskId: "task-1" });
    await loginWith(`${CANARY}-2`);
    expect(await generate()).toMatchObject({ ok: true, reused: true, files, session: { credits: 2 } });
    expect(server.submits()).toHaveLength(1);
  });

  it("is charged once, however often the same call is made, and again where that is what it asks for", async () => {
    const { call, ...world } = await sandboxAgent();
    const calls = await Promise.all([call("generate_image", FOX), call("generate_image", FOX)]);
    const again = await call("generate_image", FOX);
    const ids = new Set([...calls, again].map(({ document }) => document.taskId));
    expect(ids.size).toBe(1);
    expect(again.document).toMatchObject({ reused: true, session: { credits: 2 } });
    expect(await sandboxHistory(world)).toHaveLength(1);
    const { document } = await call("generate_image", { ...FOX, reuse: false });
    expect(ids).not.toContain(document.taskId);
    expect(document).toMatchObject({ session: { credits: 4 } });
  });

  it("is charged once where its task has failed too, and says what makes a new one", async () => {
    const { call, server } = await serviceAgent({ poll: taskIs({ status: "failed", errorCode: 7 }) });
    const hint = "It may have been charged. imggen does not retry by itself; reuse: false charges again.";
    const failed = { taskId: "task-1", charged: "unknown", error: { hint }, session: { credits: 2 } };
    for (let calls = 0; calls < 2; calls += 1)
      expect(await call("generate_image", FOX)).toMatchObject({ isError: true, document: failed });
    expect(server.submits()).toHaveLength(1);
    const { document } = await call("generate_image", { ...FOX, reuse: false });
    expect(document).toMatchObject({ taskId: "task-2", session: { credits: 4 } });
  });

  it("is copied to the file that a further call names, while it is in flight and once it is saved", async () => {
    const { call, cwd } = await sandboxAgent();
    const generate = async (name: string) =>
      (await call("generate_image", { ...FOX, output: `pictures/${name}` })).document;
    const documents = await Promise.all(["a.png", "b.png"].map(generate));
    documents.push(await generate("c.png"));
    const files = ["a.png", "b.png", "c.png"].map((name) => path.join(cwd, "pictures", name));
    expect(documents.map((each) => each.files?.["0"]?.path)).toEqual(files);
    expect(await readFile(String(files[2]))).toEqual(await readFile(String(files[0])));
    expect(documents[2]).toMatchObject({ reused: true, session: { credits: 2 } });
  });

  it("passes on where reference images are on the web", async () => {
    const { call } = await sandboxAgent();
    const request = { ...FOX, image: ["https://cdn.example/a.png", "https://cdn.example/b.png"] };
    expect((await call("generate_image", request)).document).toMatchObject({ ok: true, request });
  });

  it("answers with the task's id before the client gives up; the task goes on, and get_task has it", async () => {
    let isDone = false;
    const poll: Behaviour = (...by) => (isDone ? completedAt("/1.png") : stillRunning)(...by);
    const submit = replies(success({ taskId: "task_3f9c81aa" }));
    const { call } = await serviceAgent({ submit, poll }, [], hurriedClock());
    const { document } = await call("generate_image", FOX);
    expect(document).toMatchObject({ ok: true, status: "running", charged: "yes", files: [] });
    const taskId = String(document.taskId);
    expect(document.next).toContain(`get_task with taskId "${taskId}"`);
    isDone = true;
    const saved = await call("get_task", { taskId: taskId.slice(0, 10) });
    expect(saved.document).toMatchObject({ status: "completed", taskId, session: { credits: 2 } });
    expect(saved.document.files).toHaveLength(1);
  });

  it("leaves a task that can be resumed where the call is cancelled", async () => {
    const { call, leave, ...world } = await sandboxAgent();
    const cancelling = new AbortController();
    const { signal } = cancelling;
    const onprogress = ({ message }: { message?: string | undefined }) =>
      message?.startsWith("Waiting") && cancelling.abort();
    const slow = { ...FOX, prompt: "a fox [sandbox:slow=1m]" };
    await expect(call("generate_image", slow, { signal, onprogress })).rejects.toThrow();
    const [{ taskId }] = await sandboxHistory(world);
    const { document } = await call("get_task", { taskId, waitSeconds: 0 });
    expect(document).toMatchObject({ ok: true, status: "running", charged: "yes" });
    expect(await leave()).toBe(0);
    expect(await sandboxHistory(world)).toMatchObject([{ status: "running", charged: "yes" }]);
  });

  it("takes what the user has set where a call leaves it out", async () => {
    const folders = await mcpFolders();
    await runCommand(["config", "set", "model", "gamma-image-2"], folders);
    await runCommand(["config", "set", "output", "elsewhere/"], folders);
    const { call } = await agent(folders);
    const { document } = await call("generate_image", { prompt: FOX.prompt, quality: "2K" });
    expect(document.request).toEqual({ prompt: FOX.prompt, model: "gamma-image-2", quality: "2K" });
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

describe("two sessions at once", () => {
  it("submit one identical request once, and only one of them counts it", async () => {
    const folders = await accountFolders();
    const options = { ...folders, flags: [] };
    const sessions = await Promise.all([agent(options), agent(options)]);
    const answers = await Promise.all(sessions.map(({ call }) => call("generate_image", FOX)));
    const documents = answers.map(({ document }) => document);
    expect(new Set(documents.map(({ taskId }) => taskId)).size).toBe(1);
    expect(documents.map(({ session }) => session?.credits).sort()).toEqual([0, 2]);
    expect(await sandboxHistory(folders)).toHaveLength(1);
  });
});
