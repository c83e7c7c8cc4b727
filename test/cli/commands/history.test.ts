import { describe, expect, it } from "vitest";
import { localDay, localMinute } from "../../../src/lib/local-time.ts";
import { type CommandWorld, commandWorld } from "../../support/command-world.ts";
import { success } from "../../support/scripted-server.ts";
import { stillRunning, taskIs } from "../../support/scripts.ts";
import { words } from "../../support/words.ts";

const SANDBOX_FOX = ["generate", "a sandbox fox", "-m", "z-image", "--sandbox"];

async function taskIds(world: CommandWorld, ...args: string[]): Promise<string[]> {
  const { code, document } = await world.json(["history", ...args]);
  expect(code).toBe(0);
  return Object.values(document).map(({ taskId }) => String(taskId));
}

it("history of a model that there is not names the nearest", async () => {
  const world = await commandWorld();
  const { code, stderr } = await world.run(["history", "--model", "z-imagine"]);
  expect(code).toBe(0);
  expect(stderr).toContain('There is no model "z-imagine"; the nearest is z-image.');
});

it("history with nothing in it says how to make an image", async () => {
  const world = await commandWorld();
  for (const flags of [[], ["--sandbox"], ["--summary"]]) {
    const { code, stdout, stderr } = await world.run(["history", ...flags]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(
      /^No tasks .* yet\.\nTo generate an image, free: imggen generate "a red fox" --sandbox\n$/,
    );
  }
  expect((await world.run(["history", "--search", "fox"])).stderr).toBe(
    "No task at a real service matches.\n",
  );
});

it.each([["--unfinished"], ["--status", "Unfinished"]])(
  "history %j says where no task is unfinished",
  async (...flags) => {
    const world = await commandWorld();
    await world.run(["generate", "a fox"]);
    expect((await world.run(["history", ...flags])).stderr).toBe("No task is unfinished.\n");
    expect((await world.run(["history", ...flags, "--sandbox"])).stderr).toBe(
      "No task in the sandbox is unfinished.\n",
    );
    expect((await world.run(["history", ...flags, "--model", "z-image"])).stderr).toBe(
      "No task at a real service matches.\n",
    );
  },
);

describe("history keeps play money and real money apart", () => {
  it("lists real services, and with --sandbox the sandbox", async () => {
    const world = await commandWorld();
    await world.run(SANDBOX_FOX);
    await world.run(["generate", "a fox"]);
    expect((await world.json(["history"])).document).toMatchObject([
      { taskId: "task-1", service: world.server.baseUrl },
    ]);
    expect((await world.json(["history", "--sandbox"])).document).toMatchObject([
      { request: { prompt: "a sandbox fox" }, service: "sandbox" },
    ]);
  });

  it("says in one line where there are only the others", async () => {
    const world = await commandWorld();
    await world.run(SANDBOX_FOX);
    expect(await world.run(["history"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "No tasks at a real service yet. To list 1 task in the sandbox: imggen history --sandbox\n",
    });
    const other = await commandWorld();
    await other.run(["generate", "a fox"]);
    expect((await other.run(["history", "--sandbox"])).stderr).toBe(
      "No tasks in the sandbox yet. To list 1 task at a real service: imggen history\n",
    );
  });
});

describe("history finds", () => {
  /** A saved fox of z-image, an unfinished hare of gamma-image-2, a failed owl. */
  async function threeTasks() {
    const world = await commandWorld();
    await world.run(["generate", "a red Fox", "-m", "z-image"]);
    await world.run(["generate", "a hare", "-m", "gamma-image-2", "-q", "1K", "--no-wait"]);
    const failing = await commandWorld({
      submit: (_request, socket) => void socket.write(success({ taskId: "task-3" })),
      poll: taskIs({ status: "failed", errorCode: 7 }),
    });
    const env = { IMGGEN_BASE_URL: failing.server.baseUrl };
    await world.run(["generate", "an owl", "-m", "gamma-image-2", "-q", "2K"], { env });
    return world;
  }

  it.each([
    [["--search", "fox"], ["task-1"]],
    [
      ["--search", "A"],
      ["task-3", "task-2", "task-1"],
    ],
    [["--status", "completed"], ["task-1"]],
    [["--status", "unfinished"], ["task-2"]],
    [["--status", "running"], ["task-2"]],
    [["--status", "Failed"], ["task-3"]],
    [["--status", "unknown"], []],
    [
      ["--model", "GAMMA-image-2"],
      ["task-3", "task-2"],
    ],
    [["--model", "gamma-image-2", "--search", "owl"], ["task-3"]],
    [
      ["--since", "1h"],
      ["task-3", "task-2", "task-1"],
    ],
    [["--since", "2126-01-01"], []],
    [["--limit", "1", "--search", "r"], ["task-1"]],
    [["--search", "ox"], []],
    [["--search", "fox red"], ["task-1"]],
  ])("%j", async (args, expected) => {
    expect(await taskIds(await threeTasks(), ...args)).toEqual(expected);
  });

  it("totals by day and model", async () => {
    const world = await threeTasks();
    const day = localDay(new Date());
    const gamma = { day, model: "gamma-image-2", tasks: 2, images: 0, credits: 6, undocumented: 0 };
    const zImage = { day, model: "z-image", tasks: 1, images: 1, credits: 0, undocumented: 1 };
    expect((await world.json(["history", "--summary"])).document).toEqual({
      ok: true,
      days: [gamma, zImage],
      total: { tasks: 3, images: 1, credits: 6, undocumented: 1 },
    });
    expect(
      (await world.run(["history", "--summary"])).stdout.split("\n").map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ["DAY", "MODEL", "TASKS", "IMAGES", "CREDITS"],
      [day, "gamma-image-2", "2", "0", "6"],
      [day, "z-image", "1", "1", "?"],
      ["total", "3", "1", "6 + ?"],
      [""],
    ]);
    expect(
      (await world.json(["history", "--summary", "--status", "completed"])).document.total,
    ).toMatchObject({ tasks: 1 });
  });
});

describe("history's table", () => {
  const columnsOf = (line = "") => line.split(/ {2,}/);

  it("has the local time, the task, its status, credits, prompt and file", async () => {
    const world = await commandWorld();
    await world.run(["generate", "a fox", "-m", "gamma-image-2", "-q", "2K", "-o", "pictures/fox.png"]);
    const { submittedAt } = (await world.json(["history"])).document[0] ?? {};
    const { stdout } = await world.run(["history"]);
    const [headings, row] = stdout.split("\n");
    expect(columnsOf(headings)).toEqual(["SUBMITTED", "TASK", "STATUS", "CREDITS", "PROMPT", "FILE"]);
    const time = localMinute(new Date(String(submittedAt)));
    expect(columnsOf(row)).toEqual([time, "task-1", "completed", "4", "a fox", "pictures/fox.png"]);
  });

  it("shows on a terminal the short id that file names have, and in a pipe all of it", async () => {
    const ids = ["0123456789abcdef-one", "0123456789abcdef-two", "fedcba9876abcdef-two"];
    let tasks = 0;
    const world = await commandWorld({
      submit: (_request, socket) => void socket.write(success({ taskId: ids[tasks++] })),
      poll: stillRunning,
    });
    await world.run(["generate", "a fox", "--no-wait"]);
    expect((await world.run(["history"], { terminal: true })).stdout).toContain(" bcdefone ");
    await world.run(["generate", "a hare", "--no-wait"]);
    expect((await world.run(["history"])).stdout).toContain("0123456789abcdef-two ");
    expect((await world.json(["status", "bcdeftwo"])).document).toMatchObject({ taskId: ids[1] });
    await world.run(["generate", "an owl", "--no-wait"]);
    const { stdout } = await world.run(["history"], { terminal: true });
    for (const shown of ["bcdefone", ...ids.slice(1)]) expect(stdout).toContain(` ${shown} `);
  });
});

describe("history as a table", () => {
  it("says how many images there are besides the first, why a task failed, and how many more tasks there are", async () => {
    const world = await commandWorld();
    await world.run(["generate", "an old owl", "-m", "z-image", "--sandbox"]);
    await world.run(["generate", "a hen [sandbox:fail]", "-m", "z-image", "--sandbox"]);
    await world.run(["generate", "a fox", "-m", "vendor2/beta-v4", "--sandbox"]);
    const { stdout, stderr } = await world.run(words("history --sandbox --limit 2 --since yesterday"));
    const [, fox, hen] = stdout.split("\n");
    expect(fox).toMatch(/ a-fox-\w{8}\.png \+3$/);
    expect(hen).toMatch(/ failed .* error code 1001$/);
    expect(stderr).toBe("2 of 3 shown. To list all, add --all\n");
  });
});

describe("history --json", () => {
  it("is one document on one line, also where it is written in parts", async () => {
    const world = await commandWorld();
    for (let task = 0; task < 9; task++)
      await world.run(["generate", `${task} ${"x".repeat(9000)}`, "-m", "vendor1/alpha-2", "--sandbox"]);
    const { stdout } = await world.run(["history", "--sandbox", "--all", "--json"]);
    expect(stdout.indexOf("\n")).toBe(stdout.length - 1);
    expect(JSON.parse(stdout)).toHaveLength(9);
    expect((await world.run(["history", "--all", "--json"])).stdout).toBe("[]\n");
  });
});
