import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { hurriedClock } from "../../support/fake-clock.ts";
import { png } from "../../support/images.ts";
import { runCommand } from "../../support/in-process.ts";
import { quickClock } from "../../support/quick-clock.ts";
import { type Behaviour, response } from "../../support/scripted-server.ts";
import { byTask, completedAt, replies, reset, silence, stillRunning, taskIs } from "../../support/scripts.ts";
import { accountFolders, agent, FOX, sandboxAgent, serviceAgent } from "../mcp-world.ts";

const SLOW = { ...FOX, prompt: "a fox [sandbox:slow=1m]" };
const IMAGE = response(200, png(), { "content-type": "image/png" });

describe("what costs nothing", () => {
  it("is to finish what an earlier session has left", async () => {
    const folders = await accountFolders();
    const earlier = ["generate", FOX.prompt, "-m", "gamma-image-2", "--no-wait"];
    const taskId = (await runCommand(earlier, folders)).stdout.trim();
    const { call } = await agent({ ...folders, flags: [] });
    const { document } = await call("resume_tasks");
    expect(document).toMatchObject({ ok: true, session: { credits: 0 } });
    expect(document.tasks).toMatchObject([{ taskId, status: "completed", charged: "yes" }]);
    const past = await call("history", { search: "FOX", limit: 5 });
    expect(past.document.tasks).toMatchObject([{ taskId, status: "completed" }]);
    expect(JSON.stringify(past.document)).not.toContain("signature");
  });

  it("is to wait for an image, of which the download too ends with waitSeconds, and goes on", async () => {
    let arrive = () => {};
    const hasArrived = new Promise<void>((resolve) => (arrive = resolve));
    const file: Behaviour = (_request, socket) => hasArrived.then(() => void socket.write(IMAGE));
    const { call, server } = await serviceAgent({ file }, ["a fox"]);
    const early = await call("get_task", { taskId: "task-1", waitSeconds: 3 });
    expect(early.document).toMatchObject({ ok: true, status: "running", charged: "yes" });
    arrive();
    const late = await call("get_task", { taskId: "task-1" });
    expect(late.document).toMatchObject({ ok: true, status: "completed", files: [{}] });
    expect(server.requests.filter(({ target }) => target.startsWith("/files/"))).toHaveLength(1);
  });

  it("is to wait for a second, and no less", async () => {
    const folders = await accountFolders();
    const earlier = ["generate", FOX.prompt, "-m", "gamma-image-2", "--no-wait"];
    const taskId = (await runCommand(earlier, folders)).stdout.trim();
    const { call } = await agent({ ...folders, flags: [] });
    const { document } = await call("get_task", { taskId, waitSeconds: 1 });
    expect(document).toMatchObject({ ok: true, charged: "yes" });
  });

  it("is to resume all for waitSeconds at most, where an image takes longer to arrive, and loses nothing", async () => {
    let [isThere, begin] = [false, () => {}];
    const isBegun = new Promise<void>((resolve) => (begin = resolve));
    const file: Behaviour = (...by) => {
      begin();
      return (isThere ? replies(IMAGE) : silence)(...by);
    };
    // The time of the first call is up once the download has begun.
    const isLong = (ms: number) => ms > 60_000 && !isThere;
    const sleep: Clock["sleep"] = (ms, signal) => (isLong(ms) ? isBegun : quickClock.sleep(ms, signal));
    const { call } = await serviceAgent({ file }, ["a fox"], { ...systemClock, sleep });
    const early = await call("resume_tasks");
    isThere = true;
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
    const poll = byTask(stillRunning, { "task-1": completedAt("/files/1.png") });
    const script = { poll, file: replies(response(404, "")) };
    const { call } = await serviceAgent(script, ["a fox", "an owl"], hurriedClock());
    const { tasks } = (await call("resume_tasks")).document;
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

  it("is to finish what is in flight in the session itself", async () => {
    const { call } = await sandboxAgent();
    const slow = { ...FOX, prompt: "an owl [sandbox:slow=2s]", waitSeconds: 0 };
    await call("generate_image", slow);
    const { document } = await call("resume_tasks");
    expect(document.tasks).toMatchObject([{ ok: true, status: "completed", charged: "yes" }]);
    expect(document.session).toMatchObject({ credits: 2 });
  });
});

describe("get_task", () => {
  it("of a task that fails says so, and that it cannot be taken further", async () => {
    const { call } = await serviceAgent({ poll: taskIs({ status: "failed", errorCode: 7 }) }, ["a fox"]);
    const { isError, document } = await call("get_task", { taskId: "task-1" });
    expect({ isError, document }).toMatchObject({
      isError: true,
      document: { taskId: "task-1", error: { type: "generation_failed" } },
    });
    expect(document).not.toHaveProperty("next");
  });

  it("of a task that this machine never saw saves it in the output folder", async () => {
    const { call, cwd } = await serviceAgent({});
    const { document } = await call("get_task", { taskId: "foreign-1" });
    expect(document).toMatchObject({ ok: true, taskId: "foreign-1", session: { credits: 0 } });
    expect(path.dirname(String(document.files?.["0"]?.path))).toBe(cwd);
  });

  it("of a request without an id yet is refused by the ledger's name, which is no task's", async () => {
    const { call, home } = await serviceAgent({ submit: reset });
    await call("generate_image", FOX);
    const [name = ""] = await readdir(path.join(home, "state/tasks/open"));
    const { isError, document } = await call("get_task", { taskId: path.parse(name).name });
    expect({ isError, document }).toMatchObject({
      isError: true,
      document: { ok: false, charged: "unknown" },
    });
  });
});

describe("resume_tasks", () => {
  it("is not done where a file of the ledger cannot be read", async () => {
    const { call, home } = await serviceAgent({}, ["a fox", "an owl"]);
    const open = path.join(home, "state/tasks/open");
    const file = path.join(open, (await readdir(open)).sort()[0] ?? "");
    await writeFile(file, "no task\n");
    expect((await call("resume_tasks")).document).toMatchObject({
      ok: false,
      tasks: [{ taskId: "task-2", status: "completed" }],
      unreadable: [{ file }],
    });
  });
});
