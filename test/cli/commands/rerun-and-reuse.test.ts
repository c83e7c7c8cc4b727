import { copyFile, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { commandWorld, submitted } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";
import { failure, response, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn } from "../../support/scripts.ts";
import { pause } from "../../support/wait.ts";

const FOX = ["generate", "a fox", "-m", "gamma-image-2", "-r", "16:9", "-q", "2K"];
const FOX_REQUEST = { prompt: "a fox", model: "gamma-image-2", ratio: "16:9", quality: "2K" };

/** A service that hangs up on the first submit after it has read it, and answers the rest. */
const lostReply = () =>
  commandWorld({
    submit: inTurn((_request, socket) => void socket.destroy(), success({ taskId: "task-2" })),
  });

/** The ledger's id of the newest task. */
const newestId = async (world: { json: Awaited<ReturnType<typeof commandWorld>>["json"] }) =>
  String((await world.json(["history"])).document[0]?.id);

const otherModel = (quality: string) =>
  expect.stringMatching(
    `^Nothing was sent\\. Choose another model, or use imggen generate with the prompt; models that take ${quality}: `,
  );

describe("rerun", () => {
  it("submits the same request again, found by the bytes of a file that was moved", async () => {
    const world = await commandWorld();
    const { document } = await world.json(FOX);
    const moved = path.join(world.cwd, "renamed.png");
    await copyFile(String(document.files?.[0]?.path), moved);
    const again = await world.json(["rerun", moved]);
    expect(again).toMatchObject({ code: 0, document: { ok: true, taskId: "task-2", request: FOX_REQUEST } });
    expect(submitted(world)).toEqual([FOX_REQUEST, FOX_REQUEST]);
  });

  it("knows an image that was converted to its name's type, and the bytes that the service sent", async () => {
    const world = await commandWorld();
    await world.json([...FOX, "-o", "fox.webp"]);
    await writeFile(path.join(world.cwd, "original.png"), PICTURE);
    for (const name of ["fox.webp", "original.png"])
      expect((await world.json(["rerun", name, "--dry-run"])).document.request).toEqual(FOX_REQUEST);
    await world.json(["gallery"]);
    const gallery = await readFile(path.join(world.cwd, "gallery.html"), "utf8");
    expect(gallery).toMatch(/"name":"original\.png"[^}]*"prompt":"a fox"/);
  });

  it("changes what is given, and nothing else: neither settings nor variables count", async () => {
    const world = await commandWorld();
    const file = String((await world.json(FOX)).document.files?.[0]?.path);
    const rerun = (...args: string[]) => world.json(["rerun", ...args], { env: { IMGGEN_MODEL: "z-image" } });
    await rerun(file, "-q", "4K", "--ratio", "1:1");
    await rerun("task-1", "-m", "gamma-image-2-5-sunburst-text", "-q", "1K", "-n", "2");
    const image = ["https://example.com/a.png", "https://example.com/b.png"];
    await rerun("task-1", ...image.flatMap((url) => ["-i", url]));
    expect(submitted(world).slice(1)).toEqual([
      { ...FOX_REQUEST, quality: "4K", ratio: "1:1" },
      { ...FOX_REQUEST, model: "gamma-image-2-5-sunburst-text", quality: "1K", maxImages: 2 },
      { ...FOX_REQUEST, image },
    ]);
  });

  it.each([
    ["-q 8K", {}],
    ["-i fox.png", {}],
    // It never advises to leave out what the request has.
    [
      "-m z-image",
      { message: "The request's quality 2K: z-image takes no quality.", hint: otherModel("2K") },
    ],
    ["-m z-image -q 4K", { message: "--quality 4K: z-image takes no quality.", hint: otherModel("4K") }],
  ])("with %s is checked against the matrix; nothing is sent", async (flags, said) => {
    const world = await commandWorld();
    await world.json(FOX);
    expect(await world.json(["rerun", "task-1", ...flags.split(" ")])).toMatchObject({
      code: 2,
      document: { error: { type: "invalid_request", ...said } },
    });
    expect(world.server.submits()).toHaveLength(1);
  });

  it("refuses a file that imggen did not save, and an id that it does not know; nothing is sent", async () => {
    const world = await commandWorld();
    await writeFile(path.join(world.cwd, "other.png"), PICTURE);
    for (const what of ["other.png", "task-9"])
      expect(await world.json(["rerun", what])).toMatchObject({
        code: 2,
        document: { error: { type: "usage" } },
      });
    expect(world.server.submits()).toEqual([]);
  });

  it("of a request of unknown outcome settles it, unless it is changed: resume no longer asks about it", async () => {
    const world = await lostReply();
    for (const args of [FOX, ["resume"]]) expect((await world.json(args)).code).toBe(9);
    const id = await newestId(world);
    expect((await world.json(["rerun", id, "-q", "4K"])).code).toBe(0);
    expect((await world.json(["resume"])).code).toBe(9);
    const { code, stderr } = await world.json(["rerun", id]);
    expect(code).toBe(0);
    expect(stderr).not.toContain("sent before");
    expect((await world.json(["resume"])).code).toBe(0);
    const [made, lost] = [
      { status: "completed", charged: "yes" },
      { status: "unknown", charged: "unknown" },
    ];
    expect((await world.json(["history"])).document).toMatchObject([made, made, lost]);
  });
});

describe("generate --reuse", () => {
  const reuse = [...FOX, "--reuse"];

  it("returns what is saved, even where its exact name is given again, and spends nothing", async () => {
    const world = await commandWorld();
    const first = await world.json([...reuse, "-o", "fox.png"]);
    const requests = world.server.requests.length;
    const second = await world.json([...reuse, "-o", "fox.png"]);
    expect(second).toMatchObject({ code: 0, document: { ok: true, reused: true, taskId: "task-1" } });
    expect(second.document.files).toEqual(first.document.files);
    expect(world.server.requests).toHaveLength(requests);
    expect(await readdir(world.cwd)).toEqual(["fox.png"]);
  });

  it("leaves the images where they are where --output is another folder, and says so", async () => {
    const world = await commandWorld();
    await world.json([...reuse, "-o", "fox.png"]);
    const warnings = async (output: string) =>
      JSON.stringify((await world.json([...reuse, "-o", output])).document.warnings);
    expect(await warnings("./")).not.toContain("--output");
    expect(await warnings("hens/")).toContain("--output was ignored");
    expect(await readdir(world.cwd)).toEqual(["fox.png"]);
  });

  it("copies the images to an exact --output, as often as it is asked, and asks the service nothing", async () => {
    const world = await commandWorld({ poll: completedAt("/1.png", "/2.png") });
    const args = [...reuse, "-o"];
    await world.json([...args, "fox.png", "--sidecar"]);
    const requests = world.server.requests.length;
    const files = ["hen.png", "hen-2.png"].map((name) => ({ path: path.join(world.cwd, "new", name) }));
    for (const flags of [["--sidecar"], [], ["--no-wait"], ["--overwrite"]])
      expect(await world.json([...args, "new/hen", ...flags])).toMatchObject({
        code: 0,
        document: { reused: true, files },
      });
    const names = ["hen-2.png", "hen-2.png.json", "hen.png", "hen.png.json"];
    expect((await readdir(path.join(world.cwd, "new"))).sort()).toEqual(names);
    expect((await readFile(path.join(world.cwd, "new/hen.png"))).equals(PICTURE)).toBe(true);
    expect(world.server.requests).toHaveLength(requests);
  });

  it("refuses an exact --output that another file has, and replaces it with --overwrite", async () => {
    const world = await commandWorld();
    await world.json([...reuse, "-o", "fox.png"]);
    const taken = path.join(world.cwd, "hen.png");
    await writeFile(taken, "mine");
    const { code, document } = await world.json([...reuse, "-o", "hen.png"]);
    expect({ code, type: document.error?.type }).toEqual({ code: 2, type: "usage" });
    expect(await readFile(taken, "utf8")).toBe("mine");
    // It is older than this run, and newer than the task.
    await utimes(taken, new Date(), new Date(Date.now() - 10));
    expect((await world.json([...reuse, "-o", "hen.png", "--overwrite"])).code).toBe(0);
    expect((await readFile(taken)).equals(PICTURE)).toBe(true);
  });

  it("knows a copy that was converted to its name's type, and refuses another file of that type", async () => {
    const world = await commandWorld();
    await world.json([...reuse, "-o", "fox.png"]);
    const files = [{ path: path.join(world.cwd, "hen.jpg") }];
    for (let time = 1; time <= 2; time += 1)
      expect(await world.json([...reuse, "-o", "hen.jpg"])).toMatchObject({ code: 0, document: { files } });
    await writeFile(path.join(world.cwd, "hare.jpg"), PICTURE);
    expect((await world.json([...reuse, "-o", "hare.jpg"])).code).toBe(2);
    expect((await readdir(world.cwd)).sort()).toEqual(["fox.png", "hare.jpg", "hen.jpg"]);
  });

  it("where the image is gone: exit 0 with the file from the service, or exit 8 and how to get it", async () => {
    const there = response(200, PICTURE);
    const world = await commandWorld({ file: inTurn(there, there, response(404, "")) });
    await world.json([...reuse, "-o", "fox.png"]);
    await writeFile(path.join(world.cwd, "fox.png"), "changed");
    expect((await world.json([...reuse, "-o", "hen.png"])).code).toBe(0);
    expect((await readFile(path.join(world.cwd, "hen.png"))).equals(PICTURE)).toBe(true);
    const error = { hint: expect.stringMatching(/imggen resume \S+\n.*imggen rerun \S+/) };
    expect(await world.json([...reuse, "-o", "cat.png"])).toMatchObject({
      code: 8,
      document: { taskId: "task-1", charged: "yes", error },
    });
    expect(world.server.submits()).toHaveLength(1);
  });

  it("fetches it again where the file is gone or was changed", async () => {
    const world = await commandWorld();
    await world.json([...reuse, "-o", "fox.png"]);
    await rm(path.join(world.cwd, "fox.png"));
    expect((await world.json(reuse)).code).toBe(0);
    expect((await readFile(path.join(world.cwd, "fox.png"))).equals(PICTURE)).toBe(true);
    await writeFile(path.join(world.cwd, "fox.png"), "changed");
    expect((await world.json(reuse)).document.files?.[0]?.path).toBe(path.join(world.cwd, "fox-2.png"));
    expect(world.server.submits()).toHaveLength(1);
  });

  it("submits again what was refused", async () => {
    const refused = failure("my_credits.no_credits_description");
    const { json } = await commandWorld({ submit: inTurn(refused, success({ taskId: "task-1" })) });
    for (const code of [4, 0]) expect((await json(reuse)).code).toBe(code);
  });
});

describe("generate of a request that is unfinished", () => {
  it("continues its task, says so in one line, and charges nothing; --again submits a new task", async () => {
    const world = await commandWorld();
    await world.json([...FOX, "--no-wait"]);
    // What costs nothing is within every cap.
    const { code, document, stderr } = await world.json([...FOX, "-o", "fox.png", "--max-credits", "0"]);
    expect({ code, ...document }).toMatchObject({ code: 0, ok: true, taskId: "task-1", reused: true });
    expect(stderr.split("\n")[0]).toBe("Continuing task-1, charged earlier; --again submits a new task.");
    expect(await readdir(world.cwd)).toEqual(["fox.png"]);
    expect(world.server.submits()).toHaveLength(1);
    await world.json([...FOX, "--no-wait"]);
    expect((await world.run([...FOX, "--no-wait"])).stderr).toMatch(/^Charged earlier, 4 credits\. Resume/m);
    expect((await world.json([...FOX, "--no-wait"])).document).toMatchObject({
      taskId: "task-2",
      status: "submitted",
      reused: true,
    });
    expect((await world.json([...FOX, "--again"])).document).toMatchObject({ ok: true, taskId: "task-3" });
    expect(world.server.submits()).toHaveLength(3);
  });

  it("replaces what its exact --output has under --overwrite, even if that is newer than the task", async () => {
    const world = await commandWorld();
    for (const output of [["-o", "out.png", "--overwrite"], []]) {
      await world.json([...FOX, "--no-wait", ...output]);
      // A file's time is that of the last tick of the system's clock.
      await pause(20);
      await writeFile(path.join(world.cwd, "out.png"), "mine");
      await pause(20);
      const { document } = await world.json([...FOX, "-o", "out.png", "--overwrite"]);
      expect(document).toMatchObject({ reused: true, files: [{ path: path.join(world.cwd, "out.png") }] });
      expect(await readdir(world.cwd)).toEqual(["out.png"]);
    }
  });

  it("rerun submits it again all the same", async () => {
    const world = await commandWorld();
    await world.json([...FOX, "--no-wait"]);
    expect((await world.json(["rerun", "task-1"])).document).toMatchObject({ ok: true, taskId: "task-2" });
  });

  it("whose outcome is unknown exits 9, with --reuse too, and names the ways on; --again submits a new task", async () => {
    const world = await lostReply();
    await world.json(FOX);
    const hint = expect.stringMatching(/imggen rerun \S+\n.*imggen resume \S+ --dismiss/);
    const document = {
      ok: false,
      charged: "unknown",
      reused: true,
      error: { type: "outcome_unknown", hint },
    };
    const first = await world.json(FOX);
    expect(first).toMatchObject({ code: 9, document });
    expect(first.document.error?.message).toContain("--again");
    expect(await world.json([...FOX, "--reuse"])).toMatchObject({ code: 9, document });
    expect(world.server.submits()).toHaveLength(1);
    expect((await world.json([...FOX, "--again"])).code).toBe(0);
    expect((await world.json(["resume"])).code).toBe(9);
    expect(world.server.submits()).toHaveLength(2);
  });
});

describe("resume --dismiss", () => {
  it("of a submit in flight is refused, and says that it may be charged", async () => {
    let [reply, arrive] = [() => {}, () => {}];
    const hasArrived = new Promise<void>((resolve) => (arrive = resolve));
    const world = await commandWorld({
      submit(_request, socket) {
        reply = () => void socket.write(success({ taskId: "task-1" }));
        arrive();
      },
    });
    const running = world.json(FOX);
    await hasArrived;
    expect(await world.json(["resume", await newestId(world), "--dismiss"])).toMatchObject({
      code: 6,
      document: { charged: "unknown", error: { type: "pending" } },
    });
    reply();
    expect((await running).code).toBe(0);
  });

  it("refuses a task whose outcome is known, an id that is not there, and no id", async () => {
    const world = await commandWorld();
    await world.json([...FOX, "--no-wait"]);
    for (const ids of [["task-1"], ["task-9"], []])
      expect((await world.json(["resume", ...ids, "--dismiss"])).code).toBe(2);
    expect((await world.json(["resume"])).document.tasks).toHaveLength(1);
  });
});
