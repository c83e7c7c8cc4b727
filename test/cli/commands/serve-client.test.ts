import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";
import { liveServer } from "../../support/live-server.ts";
import { json } from "../../support/scripted-server.ts";
import { completedAt, inTurn, taskIs } from "../../support/scripts.ts";

it("a server of imggen that does not say whether its images are free is no free one: no cap passes them", async () => {
  const server = await liveServer(
    (request, socket) =>
      void socket.write(
        request.method === "POST" ? json({ code: 0, data: { taskId: "task_1" } }) : json({}, 500),
      ),
  );
  const env = { IMGGEN_BASE_URL: `${server.origin}/api`, IMGGEN_API_KEY: "sk-serve-1" };
  const world = await commandWorld({}, env);
  const { code, document } = await world.json(["generate", "a fox", "--max-credits", "5"]);
  expect([code, document.error?.type]).toEqual([2, "budget_exceeded"]);
  const paths = server.requests.map(({ method, target }) => `${method} ${target}`);
  expect(new Set(paths)).toEqual(new Set(["GET /v1/models"]));
  expect((await world.json(["generate", "a fox", "--dry-run"])).document.credits).toBeNull();
  expect(server.requests).toHaveLength(paths.length);
});

describe("a server of imggen", () => {
  /** A server that lists two models, whose images are free or not, and the commands of its client. */
  async function listing(facts: object) {
    const server = await liveServer((request, socket) => {
      const models = { object: "list", data: [{ id: "sdxl" }, { id: "flux" }], ...facts };
      socket.write(request.method === "POST" ? json({ code: -1, message: "no" }) : json(models));
    });
    const env = { IMGGEN_BASE_URL: `${server.origin}/api`, IMGGEN_API_KEY: "sk-serve-1" };
    return { ...(await commandWorld({}, env)), server };
  }

  it.each(["flux", "my/own-model.safetensors"])("has the model %s stored, as -m takes it", async (name) => {
    const { run, json } = await listing({ free: true });
    expect((await run(["config", "set", "model", name])).code).toBe(0);
    expect((await json(["config", "get", "model"])).document.value).toBe(name);
    expect((await run(["config", "set", "model", " "])).code).toBe(2);
    expect((await run(["config", "set", "ratio", "7:3"])).code).toBe(0);
    expect((await run(["config", "set", "ratio", "wide"])).code).toBe(2);
  });

  it.each([
    [["generate", "a fox"]],
    [["generate", "a fox", "--seed", "1-3"]],
    [["batch", "p.txt", "-o", "out"]],
  ])("is not asked by a dry run, which says that its cap was not checked: %j", async (args) => {
    const { run, server, cwd } = await listing({ free: true });
    await writeFile(path.join(cwd, "p.txt"), "a fox\n");
    const { code, stderr } = await run([...args, "--dry-run", "--max-credits", "5"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("The cap was not checked")]);
    expect((await run([...args, "--dry-run"])).stderr).not.toContain("cap");
    expect(server.requests).toEqual([]);
    expect((await run([...args, "--max-credits", "5"])).code).not.toBe(2);
  });

  it("whose images cost something is refused under a cap, without a dry run", async () => {
    const { json, server } = await listing({ free: false });
    const { document } = await json(["generate", "a fox", "--max-credits", "5"]);
    expect(document.error?.type).toBe("budget_exceeded");
    expect(server.submits()).toEqual([]);
  });

  it.each([
    ["sk-serve-1", [0.25, 0.5]],
    ["sk-another", []],
  ])(
    "has its progress in the events of --progress json, and no other service has (%s)",
    async (key, shares) => {
      const running = (progress: unknown) => taskIs({ status: "processing", errorCode: 0, progress });
      const polls = [0.25, "0.4", 7, -1, null, 0.5].map(running);
      const { run } = await commandWorld(
        { poll: inTurn(...polls, completedAt("/image.png")) },
        { IMGGEN_API_KEY: key },
      );
      const { code, stderr } = await run(["generate", "a fox", "--progress", "json"]);
      const events = stderr.split("\n").filter((line) => line.startsWith("{"));
      const shown = events.map((line) => JSON.parse(line)).filter(({ type }) => type === "progress");
      expect([code, shown.map(({ share }) => share)]).toEqual([0, shares]);
    },
  );

  it("has its tasks resumed with the key that it prints now, though they were submitted with the earlier form", async () => {
    const [before, now, other] = ["sk-0123456789ab", "sk-serve-0123456789ab", "sk-serve-ba9876543210"];
    const { json, server } = await commandWorld(
      { poll: completedAt("/image.png") },
      { IMGGEN_API_KEY: before },
    );
    const { document } = await json(["generate", "a fox", "--no-wait"]);
    const resume = (key: string) =>
      json(["resume", String(document.taskId)], { env: { IMGGEN_API_KEY: key } });
    expect(await resume(other ?? "")).toMatchObject({ code: 2 });
    expect(await resume(now ?? "")).toMatchObject({ code: 0 });
    expect(server.submits()).toHaveLength(1);
  });
});
