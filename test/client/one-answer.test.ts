import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ClientOptions, createClient } from "../../src/client/index.ts";
import { keyFingerprint } from "../../src/lib/fingerprint.ts";
import { GENERATOR_KEY_ID, type Intent, serviceTerms } from "../../src/task/intent.ts";
import type { Line } from "../../src/task/line.ts";
import { isResumable, isUnknown } from "../../src/task/task.ts";
import { agent } from "../mcp/mcp-world.ts";
import { type CommandWorld, commandWorld, type Document, TEST_KEY } from "../support/command-world.ts";
import { generatorWorld, IMAGE_REPLY, makesImage, modelList } from "../support/generator-world.ts";
import { png, sha256 } from "../support/images.ts";
import { leaveTask, ledgerOf } from "../support/left-task.ts";
import { LINES, recordOf, WORK } from "../support/records.ts";
import { completedAt, stillRunning, taskIs } from "../support/scripts.ts";

type Kind = "service" | "paid" | "free";

/** What every view must say of a task. */
interface Answer {
  status: string;
  charged: string;
  credits: number | null;
}

const made: Line = { ...LINES.completed, urls: [] };
const { started, accepted, completed, failed, refused, not_sent, unknown, dismissed, waiting } = LINES;
const free: Line = { ...failed, why: "No cats.", charged: "no" };

const IMAGE_URL = "https://cdn.example/1.png";

const savedIn = (folder: string, url: string | null): Line => ({
  type: "saved",
  at: completed.at,
  files: [
    {
      path: path.join(folder, "fox.png"),
      url,
      mediaType: "image/png",
      bytes: png().length,
      sha256: sha256(png()),
      width: 8,
      height: 6,
    },
  ],
});

/** A task that was left at these lines, and what is said of it. */
type Case = [
  what: string,
  lines: (folder: string) => Line[],
  status: string,
  /** Of each kind of task that can be left so. */
  charged: Partial<Record<Kind, string>>,
  /** What every view says once `resume` has done what it can. */
  after?: Partial<Record<Kind, Partial<Answer>>>,
];

const saved = { status: "completed" } as const;
const NOTHING = { service: "no", paid: "no", free: "no" };
const LOST = { service: "unknown", paid: "unknown" };
const PAID = { paid: "yes", free: "no" };

const CASES: Case[] = [
  ["was submitted, as far as is known", () => [started], "unknown", { service: "unknown" }],
  ["was accepted", () => [accepted], "running", { service: "yes" }],
  ["was completed at a URL", () => [accepted, completed], "completed", { service: "yes" }],
  ["failed at the service", () => [accepted, failed], "failed", { service: "unknown" }],
  [
    "was killed while it waited out a 429",
    () => [started, waiting],
    "running",
    { service: "no" },
    { service: { status: "refused" } },
  ],
  [
    "waits for its turn",
    () => [],
    "running",
    { paid: "no", free: "no" },
    { paid: { ...saved, charged: "yes" }, free: saved },
  ],
  ["was sent", () => [started], "running", { free: "no" }, { free: saved }],
  ["was sent, and has no reply", () => [started], "unknown", { paid: "unknown" }],
  [
    "was sent, and has its reply kept",
    () => [started],
    "running",
    { paid: "unknown", free: "no" },
    { paid: { ...saved, charged: "yes" }, free: saved },
  ],
  [
    "was turned away, and waits to be sent again",
    () => [started, waiting],
    "running",
    { paid: "no", free: "no" },
    { paid: { ...saved, charged: "yes" }, free: saved },
  ],
  ["was made, and is not saved", () => [started, made], "completed", PAID, { paid: saved, free: saved }],
  ["failed at no charge", () => [started, free], "failed", { paid: "no", free: "no" }],
  ["was never sent", () => [not_sent], "refused", NOTHING],
  ["was refused", () => [refused], "refused", NOTHING],
  ["has lost its reply", () => [unknown], "unknown", LOST],
  ["was dismissed", () => [unknown, dismissed], "unknown", LOST],
  [
    "is saved",
    (folder) => [accepted, completed, savedIn(folder, IMAGE_URL)],
    "completed",
    { service: "yes" },
  ],
  ["is saved from a reply", (folder) => [started, made, savedIn(folder, null)], "completed", PAID],
];

/** A home with this task, and all that can be asked about it. */
async function world(kind: Kind, [what, lines, status]: Case) {
  const polls = {
    running: stillRunning,
    completed: completedAt("/1.png"),
    failed: taskIs({ status: "failed", errorCode: 17 }),
  };
  const poll = polls[status as keyof typeof polls] ?? stillRunning;
  const generator = await generatorWorld(makesImage, modelList("flux"));
  const atService = await commandWorld({ poll });
  const own: CommandWorld = kind === "service" ? atService : { ...generator, server: generator.service };
  const { home, cwd } = own;
  await mkdir(path.join(home, "state"), { recursive: true });
  const image = path.join(cwd, "fox.png");
  if (/saved/.test(what)) await writeFile(image, png());
  const name = `openai:${generator.generator.origin}/v1`;
  const service =
    kind === "service"
      ? { baseUrl: atService.server.baseUrl, keyId: keyFingerprint(TEST_KEY) }
      : { baseUrl: name, keyId: GENERATOR_KEY_ID };
  const intent: Intent = {
    request: { prompt: "a fox", model: kind === "service" ? "gamma-image-2" : "flux" },
    service,
    credits: kind === "free" ? 0 : 2,
    destination: { kind: "folder", folder: cwd, template: "{slug}.{ext}", overwrite: false },
    ...(kind === "service" ? serviceTerms({}) : { ...WORK, isPaid: kind === "paid" }),
  };
  const id = await leaveTask(home, intent, lines(cwd));
  if (/^was made|reply kept$/.test(what)) {
    const folder = ledgerOf(home).work.attemptFolder(id, 0, "1.0");
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "reply"), IMAGE_REPLY);
  }
  const account: ClientOptions =
    kind === "service"
      ? { baseUrl: atService.server.baseUrl, apiKey: TEST_KEY }
      : { generator: generator.generator.origin };
  const env: Record<string, string> =
    kind === "service"
      ? { IMGGEN_BASE_URL: atService.server.baseUrl, IMGGEN_API_KEY: TEST_KEY }
      : { IMGGEN_GENERATOR: generator.generator.origin };
  return { ...own, id, account, env };
}

type World = Awaited<ReturnType<typeof world>>;

const answerOf = ({ status, charged, credits }: Partial<Answer>) => ({
  ...(status !== undefined && { status }),
  ...(charged !== undefined && { charged }),
  ...(credits !== undefined && { credits }),
});

/** What each view says of the task; a failure's document names no credits, and a refused task is in no history. */
async function views({ json, home, cwd, id, account, env }: World): Promise<[string, Partial<Answer>][]> {
  const history = Object.values((await json(["history"])).document as unknown as Document[]);
  const status = (await json(["status", id])).document;
  const client = createClient({ home, ...account });
  onTestFinished(() => client.close());
  const library = await client.status(id).catch((error: unknown) => error);
  const mcp = await agent({ home, cwd, flags: [], env });
  const { document } = await mcp.call("get_task", { taskId: id, waitSeconds: 0 });
  const asked: [string, unknown][] = [
    ["history", history[0]],
    ["status", status],
    ["library", library],
    ["get_task", document],
  ];
  return asked.flatMap(([view, said]) =>
    said === undefined ? [] : [[view, answerOf(said as Partial<Answer>)]],
  );
}

const rows = CASES.flatMap((each) =>
  Object.entries(each[3]).map(([kind, charged]) => ({ kind: kind as Kind, what: each[0], each, charged })),
);

describe("every view of a task says the same", () => {
  /** What is said of a task before, and after `command`, which says so too. */
  async function saidAfter(command: string[], left: World, { kind, each, charged }: (typeof rows)[number]) {
    const [, , status, , after = {}] = each;
    const answer: Answer = { status, charged, credits: kind === "free" ? 0 : 2 };
    const changed: Answer = { ...answer, ...after[kind] };
    const { document } = await left.json([...command, "--timeout", "5s"]);
    expect([command[0], { ...changed, ...answerOf(document as Partial<Answer>) }]).toEqual([
      command[0],
      changed,
    ]);
    for (const [view, said] of await views(left))
      expect([view, { ...changed, ...said }]).toEqual([view, changed]);
    return answer;
  }

  it.each(rows)("of a $kind one that $what: charged $charged", async (row) => {
    const left = await world(row.kind, row.each);
    const before = await views(left);
    const answer = await saidAfter(["resume", left.id], left, row);
    for (const [view, said] of before) expect([view, { ...answer, ...said }]).toEqual([view, answer]);
  });

  // The same words again are a new task where nothing is left to do for this one.
  const continued = rows.filter(({ kind, each }) => {
    const record = recordOf(each[1](""), kind === "service" ? undefined : { isPaid: kind === "paid" });
    return (
      isUnknown(record) || (isResumable(record.state) && !(kind === "service" && record.state === "waiting"))
    );
  });
  it.each(continued)("as does a generate that continues a $kind one that $what", async (row) => {
    const left = await world(row.kind, row.each);
    const model = row.kind === "service" ? "gamma-image-2" : "flux";
    await saidAfter(["generate", "a fox", "-m", model], left, row);
    expect(Object.keys((await left.json(["history"])).document)).toHaveLength(1);
  });
});
