import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { BFL } from "../support/doubles/bfl.ts";
import { answers, numberIn, type Part, type Reply, type ServiceForm } from "../support/doubles/double.ts";
import { EXAMPLE, installExample } from "../support/doubles/example.ts";
import { FAL } from "../support/doubles/fal.ts";
import { GEMINI } from "../support/doubles/gemini.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { OPENAI, SDAPI } from "../support/doubles/synchronous.ts";
import { heavyPicture, PICTURE } from "../support/images.ts";
import { paidWorld as paidProgramWorld } from "../support/paid-world.ts";
import { SHORTEST_BACKOFF } from "../support/program.ts";
import { CANARY } from "../support/program-world.ts";
import { type Answer, type Behaviour, json, response, toBehaviour } from "../support/scripted-server.ts";
import { inTurn, reset, silence } from "../support/scripts.ts";
import { killed, startedWhen } from "../support/started.ts";

const KINDS = [REPLICATE, FAL, BFL, GEMINI, OPENAI, SDAPI, EXAMPLE];
const WITH_JOBS = KINDS.filter(({ ends }) => ends !== undefined);

/** A paid service of a kind, parts of which answer otherwise, and commands that use it. */
async function paidWorld(form: ServiceForm, script: Partial<Record<Part, Answer>> = {}) {
  const { double, world, env, args } = await paidProgramWorld(form, script);
  if (form === EXAMPLE) await installExample(path.join(world.home, "config"));
  const paid = ["--generator-paid"];
  const result = async (run: Awaited<ReturnType<typeof world.run>>) => {
    const { exit, type, charged, files, open } = await world.aftermath(run);
    return { exit, type, charged, files, open };
  };
  return {
    double,
    world,
    env,
    generate: async (...more: string[]) => result(await world.run([...args, ...more], { env })),
    history: async () => JSON.parse((await world.run(["history", "--json"], { env })).stdout),
    resume: async () => result(await world.resume(paid, { env })),
    /** A process of its own, killed once the double has had a request for this part. */
    killedAt: async (part: Part) =>
      killed(await startedWhen(world, () => double.asked(part).length > 0, args, { env })),
    /** A process of its own, killed just before an operation on a file. */
    killedBefore: (operation: string, match: string) => {
      const hook = fileURLToPath(new URL("../support/kill-at.cjs", import.meta.url));
      const NODE_OPTIONS = `${SHORTEST_BACKOFF} --require ${JSON.stringify(hook)}`;
      const at = JSON.stringify({ operation, match });
      return world.run(args, { env: { ...env, NODE_OPTIONS, IMGGEN_TEST_KILL_AT: at } });
    },
  };
}

const SAVED = { exit: 0, type: null, files: [expect.stringMatching(/\.png$/)], open: [] };
const LOST = { exit: 9, type: "outcome_unknown", charged: "unknown", files: [], open: ["unknown"] };

/** What a form answers to a request for a part when all goes well. */
function usual(form: ServiceForm, part: Part, number = 1): Behaviour {
  const file: Reply = () => response(200, PICTURE, { "content-type": "image/png" });
  return answers(form.replies[part] ?? file, number);
}

/** The beginning of a reply, in which there is nothing of use. The connection stays open, or is closed. */
function half(form: ServiceForm, part: Part, isClosed: boolean): Behaviour {
  return (request, socket) => {
    const fake = { write: (bytes: Buffer) => send(bytes) };
    const send = (bytes: Buffer) => {
      const first = bytes.subarray(0, bytes.indexOf("\r\n\r\n") + 10);
      return isClosed ? socket.end(first) : socket.write(first);
    };
    return usual(form, part)(request, fake as never);
  };
}

describe.each(KINDS.map((form) => [form.kind, form] as const))("a paid request to %s", (_kind, form) => {
  it("is saved, and its key goes to the API alone", async () => {
    const { double, generate } = await paidWorld(form);
    expect(await generate()).toMatchObject({ ...SAVED, charged: "yes" });
    expect(double.submits()).toHaveLength(1);
    expect(double.submits()[0]?.headers[form.header[0]]).toBe(form.header[1](CANARY));
    expect(double.hasLeaked()).toBe(false);
  });

  // Which status means what: providers/failed-reply.test.ts.
  it("that is answered with 402 costs nothing, and is not sent again", async () => {
    const { double, generate, resume } = await paidWorld(form, { submit: form.error(402, "the words") });
    expect(await generate()).toMatchObject({ charged: "no", files: [], open: [], exit: 4 });
    expect(await resume()).toMatchObject({ exit: 0, files: [], open: [] });
    expect(double.submits()).toHaveLength(1);
  });

  it("that is answered with 429 made nothing, and is sent again", async () => {
    const busy = form.error(429, "later", { "retry-after": "0" });
    const { double, generate } = await paidWorld(form, { submit: inTurn(busy, usual(form, "submit")) });
    expect(await generate()).toMatchObject(SAVED);
    expect(double.submits()).toHaveLength(2);
  });

  it.each<[string, Answer]>([
    ["answered with 500", form.error(500, "the words")],
    ["cut on the way", reset],
    ["cut while its reply arrives", half(form, "submit", true)],
  ])("that is %s may have been charged, and is never sent again", async (_what, submit) => {
    const { double, generate, resume } = await paidWorld(form, { submit });
    expect(await generate()).toMatchObject(LOST);
    expect(await resume()).toMatchObject({ exit: 9, files: [], open: ["unknown"] });
    expect(double.submits()).toHaveLength(1);
  });

  it("whose process is killed before it was sent is sent at most once", async () => {
    const { double, killedBefore, resume } = await paidWorld(form);
    await killedBefore("openSync", "/work/");
    expect(double.submits()).toEqual([]);
    const { exit, files } = await resume();
    expect({ exit, files: files.length }).toEqual(
      double.submits().length === 1 ? { exit: 0, files: 1 } : { exit: 9, files: 0 },
    );
  });

  it("whose process is killed while it is in flight is not sent again", () => expectLost(form, silence));

  it("whose process is killed with its whole reply on the disk ends as its image", async () => {
    const { double, killedBefore, resume } = await paidWorld(form);
    await killedBefore("readFileSync", "0/reply");
    expect(double.submits()).toHaveLength(1);
    expect(await resume()).toMatchObject(SAVED);
    expect(double.submits()).toHaveLength(1);
  });
});

/** A process that is killed once its request has arrived leaves what no other process may send again. */
async function expectLost(form: ServiceForm, submit: Behaviour): Promise<void> {
  const { double, killedAt, history, resume } = await paidWorld(form, { submit });
  await killedAt("submit");
  expect(await history()).toMatchObject([
    { status: submit === silence ? "unknown" : expect.any(String), charged: "unknown" },
  ]);
  expect(await resume()).toMatchObject({ exit: 9, files: [], open: ["unknown"] });
  expect(double.submits()).toHaveLength(1);
}

it("an image whose URL has expired, while its provider gives no other, is not said to be safe", async () => {
  const poll = inTurn(usual(REPLICATE, "poll"), response(404, ""));
  const file = response(403, "expired");
  const { world, env, generate } = await paidWorld(REPLICATE, { poll, file });
  expect(await generate()).toMatchObject({ type: "save_failed", files: [], open: ["completed"] });
  const { stdout, stderr } = await world.run(["resume", "--json"], { env });
  expect(stdout + stderr).toContain("may have removed the image");
  expect(stdout + stderr).not.toContain("is not lost");
});

// One that gives an id, one that answers with its image, and a package: all others keep their replies as the first two do.
it.each([REPLICATE, OPENAI, EXAMPLE].map((form) => [form.kind, form] as const))(
  "a paid request to %s whose process is killed while it has half of its reply is not sent again",
  (_kind, form) => expectLost(form, half(form, "submit", false)),
);

it.each([REPLICATE, FAL].map((form) => [form.kind, form] as const))(
  "a paid request to %s whose reply is cut after the id is accepted, and ends as its image",
  async (_kind, form) => {
    const submit: Behaviour = (request, socket) => {
      const whole = form.replies.submit?.(`http://${request.headers.host}`, 1) ?? Buffer.alloc(0);
      socket.end(whole.subarray(0, whole.length - 30));
    };
    const { double, generate } = await paidWorld(form, { submit });
    expect(await generate()).toMatchObject({ ...SAVED, charged: "yes" });
    expect(double.submits()).toHaveLength(1);
  },
);

it("a paid request to bfl that is refused while two jobs run is sent once one of them has ended", async () => {
  let accepted = 0;
  let refused = 0;
  const { double, world, env } = await paidWorld(BFL, {
    submit: (request, socket) => {
      const isFull = accepted === 2 && refused < 6;
      if (isFull) refused += 1;
      else accepted += 1;
      const answer = isFull ? BFL.error(429, "too many") : usual(BFL, "submit", accepted);
      toBehaviour(answer)(request, socket);
    },
    poll: (request, socket) => {
      if (refused < 6) socket.write(json({ status: "Pending" }));
      else usual(BFL, "poll", numberIn(request.target))(request, socket);
    },
  });
  const prompts = await world.manifest(["fox 1", "fox 2", "fox 3"]);
  const flags = `--model ${BFL.model} --generator-paid --concurrency 3 --generator-concurrency 3 --yes`;
  const run = await world.run(["batch", prompts, "--output", `${world.out}/`, ...flags.split(" ")], { env });
  expect(run.code).toBe(0);
  expect(double.submits()).toHaveLength(9);
  expect(accepted).toBe(3);
}, 60_000);

describe.each(WITH_JOBS.map((form) => [form.kind, form] as const))("an accepted job of %s", (_kind, form) => {
  const running = form.ends?.running.poll ?? (() => response(500, ""));

  // What each status says of a poll: providers/job-service.test.ts.
  it("ends as its image after polls that were refused with 401", async () => {
    const poll = inTurn(form.error(401, "no"), usual(form, "poll"));
    const { double, generate, resume } = await paidWorld(form, { poll });
    const first = await generate();
    if (first.exit !== 0) expect(await resume()).toMatchObject(SAVED);
    expect(double.submits()).toHaveLength(1);
  });

  it("ends as its image after polls and downloads that broke", async () => {
    const errors = [404, 429, 503].map((status) => form.error(status, "wait"));
    const { double, generate } = await paidWorld(form, {
      poll: inTurn(reset, half(form, "poll", true), ...errors, answers(running), usual(form, "poll")),
      file: inTurn(reset, half(form, "file", true), usual(form, "file")),
    });
    expect(await generate()).toMatchObject(SAVED);
    expect(double.submits()).toHaveLength(1);
  });

  it("ends as its image where the first URL has expired", async () => {
    const expired = response(403, "expired");
    const { double, generate } = await paidWorld(form, { file: inTurn(expired, usual(form, "file")) });
    expect(await generate()).toMatchObject(SAVED);
    expect(double.asked("poll").length).toBeGreaterThan(1);
    expect(double.submits()).toHaveLength(1);
  });

  it("whose URLs have all expired is said to be gone, and not to be safe", async () => {
    const { world, env, generate } = await paidWorld(form, { file: response(403, "expired") });
    expect(await generate()).toMatchObject({ type: "save_failed", files: [] });
    const { stdout, stderr } = await world.run(["resume", "--json"], { env });
    expect(stdout + stderr).toContain("has expired");
    expect(stdout + stderr).not.toContain("is not lost");
  });

  it.each<[string, Part, Partial<Record<Part, Answer>>]>([
    ["is polled", "poll", { poll: inTurn(silence, usual(form, "poll")) }],
    ["is downloaded", "file", { file: inTurn(half(form, "file", false), usual(form, "file")) }],
  ])("ends as its image where the process is killed while it %s", async (_what, part, script) => {
    const { double, killedAt, resume } = await paidWorld(form, script);
    await killedAt(part);
    expect(await resume()).toMatchObject(SAVED);
    expect(double.submits()).toHaveLength(1);
    expect(double.hasLeaked()).toBe(false);
  });

  it("that the service no longer knows is no failure, and ends as its image once it is known again", async () => {
    let isKnown = false;
    const forgotten = answers(form.ends?.forgotten.poll ?? (() => response(404, "")));
    const poll: Behaviour = (request, socket) => (isKnown ? usual(form, "poll") : forgotten)(request, socket);
    const { double, generate, resume } = await paidWorld(form, { poll });
    const pending = { type: "pending", files: [], open: ["accepted"] };
    expect(await generate("--timeout", "3s")).toMatchObject(pending);
    isKnown = true;
    expect(await resume()).toMatchObject(SAVED);
    expect(double.submits()).toHaveLength(1);
  });

  it.each(["failed", "moderated"] as const)(
    "that was %s is a failure of which it is not known whether it was charged",
    async (end) => {
      const ends = Object.entries(form.ends?.[end] ?? {}).map(([part, reply]) => [part, answers(reply)]);
      const { double, generate, resume } = await paidWorld(form, Object.fromEntries(ends));
      const unknown = { exit: 5, type: "generation_failed", charged: "unknown", files: [], open: [] };
      expect(await generate()).toMatchObject(unknown);
      expect(await resume()).toMatchObject({ exit: 0, files: [] });
      expect(double.submits()).toHaveLength(1);
    },
  );
});

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>';
const MP4 = Buffer.concat([Buffer.from("\0\0\0\x18ftypisom\0\0\0\0isomiso2"), Buffer.alloc(64, 7)]);

it.each<[string, Buffer | string, string, string[]]>([
  ["an SVG", SVG, "svg", ["--generator-paid"]],
  ["an MP4", MP4, "mp4", ["--generator-paid"]],
  ["a file of unknown type", Buffer.alloc(64, 0x91), "bin", ["--generator-paid"]],
  ["an SVG", SVG, "svg", ["--generator-free"]],
])(
  "%s that a job has made is saved and named, and not downloaded again: %#",
  async (_what, file, extension, worth) => {
    const { double, world, env } = await paidProgramWorld(FAL, { file: response(200, file) });
    const output = path.join(world.out, "fox.png");
    const args = ["generate", "a fox", "--model", FAL.model, ...worth, "-o", output];
    const run = await world.run([...args, "--json"], { env });
    const saved = path.join(world.out, `fox.${extension}`);
    expect(JSON.parse(run.stdout)).toMatchObject({
      ok: true,
      files: [{ path: saved, bytes: Buffer.from(file).length, width: 0, height: 0 }],
      warnings: [expect.stringMatching(`^fox\\.${extension} is not an image`)],
    });
    expect(await readFile(saved)).toEqual(Buffer.from(file));
    const downloads = double.asked("file").length;
    const { taskId } = JSON.parse(run.stdout);
    expect(await world.run(["resume", taskId], { env })).toMatchObject({ code: 0 });
    expect(double.asked("file")).toHaveLength(downloads);
  },
);

it("a data: URL of an SVG that a free job has made is saved too", async () => {
  const url = `data:image/svg+xml;base64,${Buffer.from(SVG).toString("base64")}`;
  const poll = json({ status: "succeeded", output: [url] });
  const { world, env } = await paidProgramWorld(REPLICATE, { poll });
  const run = await world.run(["generate", "a fox", "--model", REPLICATE.model, "--generator-free"], { env });
  expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining("image/svg+xml") });
  expect(await readFile(run.stdout.trim(), "utf8")).toBe(SVG);
});

it.each(["--generator-paid", "--generator-free"])(
  "bytes of unknown type in the data: URL of a job are kept, and the place named: %s",
  async (worth) => {
    const bytes = Buffer.alloc(64, 0x91);
    const url = `data:application/octet-stream;base64,${bytes.toString("base64")}`;
    const poll = json({ status: "succeeded", output: [url] });
    const { double, world, env } = await paidProgramWorld(REPLICATE, { poll });
    const args = ["generate", "a fox", "--model", REPLICATE.model, worth, "--json"];
    const { error } = JSON.parse((await world.run(args, { env })).stdout);
    const folder = /kept in (\S+?)(?:\.| until .*)$/m.exec(error.message)?.[1] ?? "";
    expect(await readFile(path.join(folder, "result"), "utf8")).toContain(url);
    expect(double.submits()).toHaveLength(1);
  },
);

const INLINE = json({ images: [{ url: `data:image/png;base64,${heavyPicture(1200).toString("base64")}` }] });

it.each<[string, string, string, number]>([
  ["before it is kept, is polled again", "renameSync", "/.poll-", 2],
  ["once it is kept, is not polled again", "readFileSync", "/result", 0],
])(
  "a paid job whose process is killed with its large result on the disk, %s",
  async (_when, operation, match, again) => {
    const { double, killedBefore, resume } = await paidWorld(FAL, { result: INLINE });
    await killedBefore(operation, match);
    const before = double.asked("result").length;
    expect(await resume()).toMatchObject(SAVED);
    expect(double.asked("result").length - before).toBe(again);
    expect(double.submits()).toHaveLength(1);
  },
);

it.each<[string, string[], number]>([
  ["an image in its reply", [`data:image/png;base64,${PICTURE.toString("base64")}`], 0],
  ["no image", [], 8],
])("a job that the ledger does not have is saved by its id: %s", async (_what, output, exit) => {
  const poll = json({ status: "succeeded", output });
  const { world, env } = await paidProgramWorld(REPLICATE, { poll });
  const args = ["status", "pred-9", "--output", `${world.out}/`, "--json"];
  const run = await world.run(args, { env });
  expect(run.code).toBe(exit);
  const files = await readdir(world.out).catch(() => []);
  expect(files).toHaveLength(output.length);
  // Nothing of the reply is left.
  const left = await readdir(world.home, { recursive: true });
  expect(left.filter((name) => /poll-|result$/.test(name))).toEqual([]);
});

it("the query of a generator's address is in no sidecar, record, history, config list or message", async () => {
  const { double, world, env } = await paidProgramWorld(OPENAI);
  const generator = `${double.spec}?zone=hush-1`;
  const own = { env: { ...env, IMGGEN_GENERATOR: undefined } };
  const said = [];
  for (const line of [
    ["config", "set", "generator", generator, "--json"],
    ["config", "list", "--json"],
    ["generate", "a fox", "--model", OPENAI.model, "--generator-paid", "--sidecar", "--json"],
    ["generate", "a fox", "--generator", `htp://a.example?zone=hush-1`, "--json"],
    ["history", "--json"],
  ])
    said.push(await world.run(line, own));
  expect(said.map(({ code }) => code)).toEqual([0, 0, 0, 2, 0]);
  expect(JSON.stringify(said)).not.toContain("hush-1");
  const files = await readdir(world.home, { recursive: true, withFileTypes: true });
  const paths = files.filter((each) => each.isFile()).map((each) => path.join(each.parentPath, each.name));
  const texts = await Promise.all(paths.map(async (file) => [file, await readFile(file, "latin1")] as const));
  // The settings alone have it: requests need it.
  expect(texts.filter(([, text]) => text.includes("hush-1")).map(([file]) => path.basename(file))).toEqual([
    "config.json",
  ]);
  const sidecars = (await readdir(world.out)).filter((name) => name.endsWith(".json"));
  expect(sidecars).toHaveLength(1);
  expect(await readFile(path.join(world.out, sidecars[0] ?? ""), "utf8")).not.toContain("hush-1");
  expect(double.submits().map(({ target }) => target)).toEqual([expect.stringContaining("zone=hush-1")]);
});

const FLAGGED = { seed: 7, has_nsfw_concepts: [true] };
const WARNING = "marked an image as not safe for work";

it("an image that fal marks as not safe for work is saved, with a warning in text, JSON and a batch", async () => {
  const result: Behaviour = (request, socket) => {
    const url = `http://${request.headers.host}/files/image-1.png`;
    socket.write(json({ images: [{ url }], ...FLAGGED }));
  };
  const { world, env } = await paidWorld(FAL, { result });
  const args = ["generate", "a fox", "--generator-paid", "--model", FAL.model];
  const text = await world.run([...args, "--output", `${world.out}/text/`], { env });
  expect(text).toMatchObject({ code: 0, stderr: expect.stringContaining(WARNING) });
  const asJson = await world.run([...args, "--json", "--output", `${world.out}/json/`], { env });
  expect(JSON.parse(asJson.stdout).warnings).toEqual([expect.stringContaining(WARNING)]);
  const prompts = await world.manifest(["a fox", "a hare"]);
  const flags = `--model ${FAL.model} --generator-paid --yes`.split(" ");
  const batch = await world.run(["batch", prompts, "--output", `${world.out}/batch/`, ...flags], { env });
  expect(batch.code).toBe(0);
  expect(batch.stdout + batch.stderr).toContain(WARNING);
});
