import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { GENERATOR_KEY_ID, type Intent } from "../../../src/task/intent.ts";
import { jsonLines } from "../../support/batch-world.ts";
import { generatorWorld, makesImage, modelList, refuses } from "../../support/generator-world.ts";
import { PICTURE, png, sha256 } from "../../support/images.ts";
import { leaveTask, openTasks } from "../../support/left-task.ts";
import { LINES, WORK } from "../../support/records.ts";
import { type Behaviour, response } from "../../support/scripted-server.ts";
import { inTurn, reset } from "../../support/scripts.ts";
import { words } from "../../support/words.ts";

describe("generate with the user's own generator", () => {
  it("saves its image, free of charge, and says in the ledger whose it is", async () => {
    const { json, generator, service } = await generatorWorld();
    const { code, document } = await json(["generate", "a fox", "--sidecar"]);
    const [of, usage] = [`openai:${generator.origin}/v1`, { total_tokens: 12 }];
    expect({ code, ...document }).toMatchObject({
      ...{ code: 0, ok: true, taskId: expect.stringMatching(/^task_[0-9a-f]{20}$/), status: "completed" },
      request: { prompt: "a fox", model: "flux" },
      ...{ credits: 0, charged: "no", files: [{ url: null }], usage },
    });
    const sidecar = await readFile(`${document.files?.[0]?.path}.json`, "utf8");
    expect(JSON.parse(sidecar)).toMatchObject({ service: of, usage });
    expect((await json(["history"])).document).toMatchObject([{ service: of, credits: 0 }]);
    expect(service.requests).toEqual([]);
  });

  it("sends what the user says of it, and no key", async () => {
    const { run, generator } = await generatorWorld(makesImage, modelList("flux", "sd3"));
    const flags = ["--field", "steps=20", "--field", "negative_prompt=no text", "-r", "16:9"];
    const own = ["--generator-side", "512", "--generator-model", "sd3"];
    expect(await run(["generate", "a fox", ...flags, ...own])).toMatchObject({ code: 0 });
    const [request] = generator.submits();
    expect(request?.target).toBe("/v1/images/generations");
    expect(request?.headers.authorization).toBeUndefined();
    const sent = { prompt: "a fox", model: "sd3", size: "512x288", steps: 20, negative_prompt: "no text" };
    expect(JSON.parse(request?.body ?? "")).toMatchObject(sent);
  });

  it.each([
    [
      refuses(404, "model_not_found", "The model does not exist"),
      modelList("flux"),
      { hint: "Nothing was charged. Available models: flux." },
    ],
    [
      refuses(404, "", "Not Found"),
      response(404, "nothing here"),
      {
        message: expect.stringMatching(/There is no image API at /),
        hint: "Nothing was charged. To find the servers on this machine: imggen setup",
      },
    ],
    [
      refuses(400, "invalid_value", "Invalid size"),
      modelList("flux"),
      { type: "invalid_request", hint: "Nothing was charged." },
    ],
  ])("says what to do about a refusal, and does not send to the service's models (%#)", async (...said) => {
    const [answer, models, error] = said;
    const { json } = await generatorWorld(answer, models);
    expect(await json(["generate", "a fox"])).toMatchObject({ document: { error } });
  });

  it("is asked again where its reply is lost, which is not said to be a request that was not sent", async () => {
    const { run, generator } = await generatorWorld(inTurn(reset, makesImage));
    const { code, stderr } = await run(["generate", "a fox"]);
    expect({ code, submits: generator.submits().length }).toEqual({ code: 0, submits: 2 });
    expect(stderr).toMatch(/^\S+ sent no complete reply: the connection was cut\. Next try in /m);
  });

  it.each(["status", "resume"])("is not asked by %s for a task that the ledger lacks", async (command) => {
    const { json, generator } = await generatorWorld();
    const message = expect.stringContaining("The ledger has no task task_aaaaaaaaaaaaaaaaaaaa");
    const refused = { code: 2, document: { error: { type: "usage", message } } };
    expect(await json([command, "task_aaaaaaaaaaaaaaaaaaaa"])).toMatchObject(refused);
    expect(generator.submits()).toEqual([]);
  });

  it.each([
    ["batch", ["batch", "foxes.txt", "-m", "flux"]],
    ["compare", ["compare", "a fox", "-m", "flux,other"]],
  ])(
    "says in the summary of %s how many images have another size than was asked for",
    async (_what, args) => {
      const { run, cwd } = await generatorWorld(makesImage, modelList("flux", "other"));
      await writeFile(path.join(cwd, "foxes.txt"), "a fox\na red fox\n");
      const { code, stderr } = await run([...args, "-r", "16:9", "--yes"]);
      expect(code).toBe(0);
      const warnings = stderr.split("\n").filter((line) => line.includes("warning"));
      expect(warnings).toEqual(["  warning: Requested 1024×576 pixels, received 8×6. (2 rows)"]);
    },
  );

  it("warns of an image of another size than was asked for, and of one that is missing", async () => {
    const refused = refuses(400, "moderation_blocked", "No cats here.");
    const { json } = await generatorWorld(inTurn(makesImage, refused));
    const message = expect.stringMatching(/^1 of 2 images .*Image 2: .*No cats here/);
    const warnings = ["Requested 1024×576 pixels, received 8×6."];
    expect(await json(["generate", "a cat", "-r", "16:9", "-n", "2"])).toMatchObject({
      code: 10,
      document: {
        ...{ charged: "no", resume: null, files: [{ url: null }], warnings },
        error: { type: "partial", message },
      },
    });
    expect(await json(["resume"])).toMatchObject({ code: 0, document: { tasks: [] } });
  });

  it("under --sandbox opens no connection to it", async () => {
    const { json, generator, service } = await generatorWorld();
    const { code, document } = await json(["generate", "a fox", "--sandbox"]);
    expect({ code, ok: document.ok }).toEqual({ code: 0, ok: true });
    expect([generator.requests, service.requests]).toEqual([[], []]);
  });

  it("takes reference images from files, which it keeps until the task is over", async () => {
    const { run, generator, cwd } = await generatorWorld();
    await writeFile(path.join(cwd, "fox.png"), PICTURE);
    expect(await run(["generate", "a fox", "--image", "fox.png"])).toMatchObject({ code: 0 });
    expect(generator.submits()[0]?.target).toBe("/v1/images/edits");
  });

  it("that is interrupted has charged nothing, and says so", async () => {
    const stop = new AbortController();
    const { json } = await generatorWorld(() => stop.abort(new InterruptedError("SIGINT")));
    const error = { hint: expect.stringMatching(/^Nothing was charged\./) };
    expect(await json(["generate", "a fox"], { signal: stop.signal })).toMatchObject({
      code: 130,
      document: { charged: "no", resume: expect.any(String), error },
    });
  });

  it("names no command that resumes a paid task of which all but a lost image is saved", async () => {
    const { json } = await generatorWorld(inTurn(makesImage, reset));
    const first = await json(["generate", "a cat", "-n", "2", "--generator-paid"]);
    const id = String(first.document.taskId);
    for (const { code, document } of [first, await json(["status", id]), await json(["resume", id])]) {
      expect([code, document.resume, document.files?.length]).toEqual([10, null, 1]);
      expect(document.error?.hint).toMatch(/^To stop tracking lost images: imggen resume \S+ --dismiss$/);
    }
  });

  it("passes its words on where it refuses, at no charge, and asks no second time", async () => {
    const { json, generator } = await generatorWorld(refuses(400, "moderation_blocked", "No cats here."));
    const error = { type: "generation_failed", message: expect.stringContaining("No cats here") };
    expect(await json(["generate", "a cat"])).toMatchObject({ code: 5, document: { charged: "no", error } });
    expect(generator.submits()).toHaveLength(1);
    expect((await json(["history"])).document).toEqual([]);
  });
});

describe("a paid generator", () => {
  const paid = "--generator-paid";

  it("whose reply is lost leaves an unknown outcome: named, dismissed or sent again by the user alone", async () => {
    const { json, home, generator } = await generatorWorld(inTurn(refuses(524, "timeout"), makesImage));
    const fox = ["generate", "a fox", paid];
    expect(await json(fox)).toMatchObject({
      code: 9,
      document: {
        ...{ charged: "unknown", taskId: expect.stringMatching(/^task_/) },
        error: { type: "outcome_unknown", message: expect.stringMatching(/HTTP 524.* kept in .*reply/) },
      },
    });
    expect(await json(fox)).toMatchObject({ code: 9, document: { reused: true } });
    for (const args of [
      [...fox, "--reuse"],
      ["resume", paid],
    ])
      expect((await json(args)).code).toBe(9);
    expect(generator.submits()).toHaveLength(1);
    const [task = ""] = await openTasks(home);
    for (const args of [["resume", task, "--dismiss"], fox]) expect((await json(args)).code).toBe(0);
    expect(generator.submits()).toHaveLength(2);
  });

  it("of unknown price is refused under a cap", async () => {
    const { json, generator } = await generatorWorld();
    const capped = ["generate", "a fox", paid, "--max-credits", "3"];
    expect(await json(capped)).toMatchObject({ code: 2, document: { error: { type: "budget_exceeded" } } });
    expect(generator.submits()).toEqual([]);
  });

  it.each([
    ["cannot be reached", [], 7, "network"],
    ["cannot be reached", [paid], 7, "network"],
    ["refuses the key", [paid], 3, "auth_required"],
  ])("that %s has charged nothing, and leaves nothing open, %s", async (what, flags, code, type) => {
    const { generator, json, home } = await generatorWorld(refuses(401, "invalid_api_key"));
    if (what === "cannot be reached") await generator.close();
    expect(await json(["generate", "a fox", "-m", "flux", ...flags])).toMatchObject({
      code,
      document: { charged: "no", resume: null, error: { type } },
    });
    expect(await openTasks(home)).toEqual([]);
  });

  it.each([
    ["is busy", 429, "rate_limit_exceeded", 6, "pending", "It was charged."],
    ["refuses the key", 401, "invalid_api_key", 3, "auth_required", "The images made before are kept."],
  ] as const)(
    "that %s after the first of two images has charged for that, which is kept",
    async (_what, status, word, code, type, said) => {
      const { json, run, generator } = await generatorWorld(inTurn(makesImage, refuses(status, word)));
      const left = await json(["generate", "a fox", paid, "-n", "2"]);
      const hint = expect.stringMatching(new RegExp(`^${said}\\s+Resume with: `));
      const resume = expect.stringMatching(/^imggen resume task_/);
      expect(left).toMatchObject({ code, document: { charged: "yes", resume, error: { type, hint } } });
      expect((await run(["resume"])).stderr).not.toContain("Nothing was charged");
      const before = generator.submits().length;
      const running = { code: 6, document: { charged: "yes", status: "running" } };
      expect(await json(["status", String(left.document.taskId)])).toMatchObject(running);
      expect(generator.submits()).toHaveLength(before);
    },
  );

  it("of several images loses one: the others are saved, the lost one is named until it is dismissed", async () => {
    const lost = refuses(524, "timeout");
    const { json, run, home, prompts } = await generatorWorld(inTurn(makesImage, lost, makesImage));
    const partial = await json(["generate", "a fox", paid, "-n", "3"]);
    const [task = ""] = await openTasks(home);
    const hint = expect.stringContaining(`imggen resume ${task} --dismiss`);
    const message = expect.stringMatching(/^1 of 3 .*Image 2: .*HTTP 524/);
    const files = [{ url: null }, { url: null }];
    const error = { type: "partial", message, hint };
    expect(partial).toMatchObject({ code: 10, document: { charged: "yes", files, error } });
    expect(await json(["resume"])).toMatchObject({ code: 10 });
    expect(await run(["resume", task, "--dismiss"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    const known = { status: "completed", charged: "yes", files: [{}, {}] };
    expect(await json(["history"])).toMatchObject({ document: [known] });
    expect(prompts()).toHaveLength(3);
  });

  it("keeps the unsaved image of a task if another request is dismissed, and names the command that saves it", async () => {
    const { run, home, generator } = await generatorWorld();
    const intent = {
      ...{ ...WORK, request: { prompt: "a fox", model: "flux", maxImages: 2 }, credits: null },
      ...{ taskId: "task_5e1f00000000000000aa", requests: 2 },
      service: { baseUrl: `openai:${generator.origin}/v1`, keyId: GENERATOR_KEY_ID },
      destination: { kind: "folder", folder: home, template: "{slug}.{ext}", overwrite: false },
    } satisfies Intent;
    const { started, completed, unknown } = LINES;
    const task = await leaveTask(home, intent, [
      ...[started, { ...completed, urls: [`${generator.origin}/a.png`] }],
      ...[started, unknown].map((line) => ({ ...line, request: 1, attempt: "1.1" })),
    ]);
    expect(await run(["resume", task, "--dismiss"])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`To save its images: imggen resume ${task}`),
    });
    expect(await openTasks(home)).toEqual([task]);
  });

  it("whose key is like a word of a result URL saves its image all the same", async () => {
    const { json } = await generatorWorld();
    const env = { IMGGEN_GENERATOR_KEY: "files" };
    expect(await json(["generate", "a fox", paid], { env })).toMatchObject({ code: 0 });
  });

  it("that is interrupted sends its image all the same, and resume saves it", async () => {
    const stop = new AbortController();
    const { json, prompts } = await generatorWorld((request, socket) => {
      stop.abort(new InterruptedError("SIGINT"));
      void makesImage(request, socket);
    });
    expect(await json(["generate", "a fox", paid], { signal: stop.signal })).toMatchObject({
      code: 130,
      document: { charged: "yes", resume: expect.any(String), error: { type: "interrupted" } },
    });
    expect(await json(["resume"])).toMatchObject({ code: 0, document: { tasks: [{ charged: "yes" }] } });
    expect(prompts()).toHaveLength(1);
  });

  it("whose time is up while its reply arrives is saved all the same", async () => {
    const { json, prompts } = await generatorWorld((request, socket) => {
      setTimeout(() => void makesImage(request, socket), 400);
    });
    // The clock goes ten times as fast.
    expect(await json(["generate", "a fox", paid, "--timeout", "1s"])).toMatchObject({
      code: 0,
      document: { charged: "yes", status: "completed" },
    });
    expect(prompts()).toHaveLength(1);
  });
});

describe("a batch with the user's own generator", () => {
  const paidBatch = ["batch", "foxes.txt", "--generator-paid", "--yes"];
  const batchOf = async (count: number, answer: Behaviour) => {
    const world = await generatorWorld(answer);
    const rows = Array.from({ length: count }, (_, at) => `fox ${at + 1}`);
    await writeFile(path.join(world.cwd, "foxes.txt"), rows.join("\n"));
    return world;
  };

  it("submits a row again that was refused, as its hint says", async () => {
    const { run, prompts } = await batchOf(1, inTurn(refuses(400, "moderation_blocked"), makesImage));
    const [row] = jsonLines((await run([...paidBatch, "--json"])).stdout);
    expect(row?.error?.hint).toBe("Nothing was charged. The next run of this batch submits the row again.");
    expect((await run(paidBatch)).code).toBe(0);
    expect(prompts()).toEqual(["fox 1", "fox 1"]);
  });

  it("stops at the first row where the key is refused: what is not in flight yet is not sent", async () => {
    const { run, generator } = await batchOf(30, refuses(401, "invalid_api_key"));
    const { code, stdout } = await run([...paidBatch, "--json"]);
    expect(code).toBe(3);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ pending: 0, notSent: 29, credits: 0 });
    expect(generator.submits().length).toBeLessThanOrEqual(4);
  });

  it("says of the row that needs a key why, and of nothing that it was charged", async () => {
    const { run } = await batchOf(2, refuses(401, "invalid_api_key"));
    const { stderr } = await run(paidBatch);
    expect(stderr).toMatch(/^line [12]: failed: 127\.0\.0\.1:\d+ needs a key, but the request had none/m);
    expect(stderr).toMatch(/^2 rows: 0 saved, 1 failed, 1 not sent\. Nothing was charged in this run\.$/m);
    expect(stderr).toMatch(/^To resume, run the same command again\.$/m);
  });
});

describe("a task of a generator", () => {
  it("is resumed at its own, where another one or a service is configured", async () => {
    const { cwd, generator, home, json, prompts, service } = await generatorWorld();
    const intent: Intent = {
      request: { prompt: "a fox", model: "flux" },
      service: { baseUrl: `openai:${generator.origin}/v1`, keyId: GENERATOR_KEY_ID },
      credits: 0,
      destination: { kind: "folder", folder: cwd, template: "{slug}.{ext}", overwrite: false },
      ...WORK,
    };
    await mkdir(path.join(home, "state"), { recursive: true });
    await leaveTask(home, intent);
    const env = { IMGGEN_GENERATOR: undefined, IMGGEN_BASE_URL: service.baseUrl };
    expect(await json(["resume"], { env })).toMatchObject({ code: 0, document: { tasks: [{ ok: true }] } });
    expect(prompts()).toEqual(["a fox"]);
    expect(service.requests).toEqual([]);
  });

  it("is only looked at by status, which runs none", async () => {
    const world = await generatorWorld(inTurn(() => {}, makesImage));
    // The place of a request that is given up stays taken for a while: the server may still be at work on it.
    await world.run(["config", "set", "generatorConcurrency", "2"]);
    const { document } = await world.json(["generate", "a fox", "--timeout", "1s"]);
    expect(await world.json(["status", String(document.taskId)])).toMatchObject({ code: 6 });
    expect(world.generator.submits()).toHaveLength(1);
    const waiting = ["status", String(document.taskId), "--wait"];
    expect(await world.json(waiting)).toMatchObject({ code: 6, document: { state: "waiting" } });
    expect(world.generator.submits()).toHaveLength(1);
    expect(await world.json(["resume"])).toMatchObject({ code: 0 });
  });

  it("is submitted again by rerun, there where nothing is configured, at another service only with --yes", async () => {
    const { json, service, prompts } = await generatorWorld();
    const rerun = ["rerun", String((await json(["generate", "a fox"])).document.taskId)];
    const rerunAt = (baseUrl: string | undefined) =>
      json(rerun, { env: { IMGGEN_GENERATOR: undefined, IMGGEN_BASE_URL: baseUrl } });
    const error = { hint: expect.stringContaining("--generator openai:") };
    expect(await rerunAt(service.baseUrl)).toMatchObject({ code: 2, document: { error } });
    expect(await rerunAt(undefined)).toMatchObject({ code: 0 });
    expect(service.requests).toEqual([]);
    expect(await json(rerun)).toMatchObject({ code: 0 });
    expect(prompts()).toEqual(["a fox", "a fox", "a fox"]);
  });
});

describe("reference images that are files", () => {
  it("batch takes from the manifest's folder, those of a flag from the working one; a row is known by their bytes", async () => {
    const { json, run, generator, cwd } = await generatorWorld();
    for (const folder of ["rows", "moved"]) await mkdir(path.join(cwd, folder));
    const [other, own] = [path.join(cwd, "fox.png"), path.join(cwd, "rows", "fox.png")];
    await writeFile(own, PICTURE);
    await writeFile(other, png(2));
    await writeFile(
      path.join(cwd, "rows", "m.jsonl"),
      '{"prompt":"a fox","image":"fox.png"}\n{"prompt":"a hen"}',
    );
    const batch = ["batch", "rows/m.jsonl", "-i", "fox.png", "--output", "out/", "--concurrency", "1"];
    expect(await run([...batch, "--dry-run"])).toMatchObject({ code: 0 });
    expect(generator.requests.filter(({ method }) => method === "POST")).toEqual([]);
    expect(await run(batch)).toMatchObject({ code: 0 });
    const sent = generator.requests.filter(({ method }) => method === "POST");
    expect(sent.map(({ target }) => target)).toEqual(["/v1/images/edits", "/v1/images/edits"]);
    const history = await json(["history"]);
    const names = [history.document]
      .flat()
      .map(({ request }) => path.basename(String(request?.image), ".png"));
    expect(names.sort()).toEqual([PICTURE, png(2)].map(sha256).sort());
    await rename(path.join(cwd, "rows", "m.jsonl"), path.join(cwd, "moved", "m.jsonl"));
    await rename(own, path.join(cwd, "moved", "fox.png"));
    expect(await run(batch.map((word) => word.replace("rows", "moved")))).toMatchObject({ code: 0 });
    expect(generator.requests.filter(({ method }) => method === "POST")).toHaveLength(2);
  });

  it("batch names with their lines where they cannot be used, and sends nothing", async () => {
    const { json, generator, cwd } = await generatorWorld();
    await writeFile(path.join(cwd, "m.jsonl"), '{"prompt":"a hen"}\n{"prompt":"a fox","image":"none.png"}');
    const { code, document } = await json(["batch", "m.jsonl", "-m", "flux"]);
    expect({ code, problems: document.error?.problems }).toEqual({
      code: 2,
      problems: [{ line: 2, message: expect.stringContaining("none.png cannot be read") }],
    });
    expect(generator.submits()).toEqual([]);
  });

  it("compare takes too, for models that only the generator knows", async () => {
    const { json, generator, cwd } = await generatorWorld(makesImage, modelList("flux", "sd3"));
    await writeFile(path.join(cwd, "fox.png"), PICTURE);
    const { code, document } = await json(words('compare "a fox" -m flux,sd3 -q 1K -i fox.png'));
    const cells = ["flux", "sd3"].map((model) => ({ ok: true, request: { model } }));
    expect({ code, cells: document.cells }).toMatchObject({ code: 0, cells });
    expect(generator.submits().map(({ target }) => target)).toEqual(["/v1/images/edits", "/v1/images/edits"]);
  });
});

it("a generator with several models is not used before one is chosen", async () => {
  const { json, generator } = await generatorWorld(makesImage, modelList("flux", "sd3"));
  expect(await json(["generate", "a fox"])).toMatchObject({
    code: 2,
    document: { error: { hint: expect.stringContaining("flux, sd3") } },
  });
  expect(generator.submits()).toEqual([]);
});
