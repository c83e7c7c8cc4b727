import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ClientOptions, createClient } from "../../src/client/index.ts";
import { keyFingerprint } from "../../src/lib/fingerprint.ts";
import { type Destination, GENERATOR_KEY_ID, type Intent } from "../../src/task/intent.ts";
import { isResumable, type TaskEvent } from "../../src/task/lifecycle.ts";
import { isUnknown } from "../../src/task/record.ts";
import { agent } from "../mcp/mcp-world.ts";
import { type CommandWorld, commandWorld, type Document, TEST_KEY } from "../support/command-world.ts";
import { generatorWorld, IMAGE_REPLY, makesImage, modelList } from "../support/generator-world.ts";
import { png, sha256 } from "../support/images.ts";
import { GONE, leaveTask, ledgerOf } from "../support/left-task.ts";
import { EVENTS, recordOf, WORK } from "../support/records.ts";
import { completedAt, stillRunning, taskIs } from "../support/scripts.ts";

type Kind = "service" | "paid" | "free";

/** What every view must say of a task. */
interface Answer {
  status: string;
  charged: string;
  credits: number | null;
}

const started: TaskEvent = { ...EVENTS.started, by: GONE };
const again: TaskEvent = { ...EVENTS.waiting, sent: true };
const made: TaskEvent = { ...EVENTS.completed, urls: [] };
const { accepted, completed, failed, refused, not_sent, unknown, dismissed, rate_limited } = EVENTS;
const free: TaskEvent = { ...failed, why: "No cats.", charged: "no" };

const savedIn = (folder: string, url: string | null): TaskEvent => ({
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

interface Case {
  what: string;
  events: (folder: string) => TaskEvent[];
  status: string;
  charged: Record<Kind, string | null>;
  /** What every view says once `resume` has done what it can. */
  after: Partial<Record<Kind, Partial<Answer>>>;
}

const SERVICE_ONLY = { paid: null, free: null };
const completedWhere = { status: "completed" } as const;

const CASES: Case[] = [
  {
    what: "was submitted, as far as is known",
    events: () => [],
    status: "unknown",
    charged: { service: "unknown", ...SERVICE_ONLY },
    after: {},
  },
  {
    what: "was accepted",
    events: () => [accepted],
    status: "running",
    charged: { service: "yes", ...SERVICE_ONLY },
    after: {},
  },
  {
    what: "was completed at a URL",
    events: () => [accepted, completed],
    status: "completed",
    charged: { service: "yes", ...SERVICE_ONLY },
    after: {},
  },
  {
    what: "failed at the service",
    events: () => [accepted, failed],
    status: "failed",
    charged: { service: "unknown", ...SERVICE_ONLY },
    after: {},
  },
  {
    what: "was killed while it waited out a 429",
    events: () => [rate_limited],
    status: "refused",
    charged: { service: "no", ...SERVICE_ONLY },
    after: {},
  },
  {
    what: "waits for its turn",
    events: () => [],
    status: "running",
    charged: { service: null, paid: "no", free: "no" },
    after: { paid: { ...completedWhere, charged: "yes" }, free: completedWhere },
  },
  {
    what: "was sent",
    events: () => [started],
    status: "running",
    charged: { service: null, paid: null, free: "no" },
    after: { free: completedWhere },
  },
  {
    what: "was sent, and has no reply",
    events: () => [started],
    status: "unknown",
    charged: { service: null, paid: "unknown", free: null },
    after: {},
  },
  {
    what: "was sent, and has its reply kept",
    events: () => [started],
    status: "running",
    charged: { service: null, paid: "unknown", free: "no" },
    after: { paid: { ...completedWhere, charged: "yes" }, free: completedWhere },
  },
  {
    what: "was sent, and waits to be sent again",
    events: () => [started, again],
    status: "running",
    charged: { service: null, paid: "unknown", free: "no" },
    after: { paid: { ...completedWhere, charged: "yes" }, free: completedWhere },
  },
  {
    what: "was made, and is not saved",
    events: () => [started, made],
    status: "completed",
    charged: { service: null, paid: "yes", free: "no" },
    after: { paid: completedWhere, free: completedWhere },
  },
  {
    what: "failed at no charge",
    events: () => [started, free],
    status: "failed",
    charged: { service: null, paid: "no", free: "no" },
    after: {},
  },
  {
    what: "was never sent",
    events: () => [not_sent],
    status: "refused",
    charged: { service: "no", paid: "no", free: "no" },
    after: {},
  },
  {
    what: "was refused",
    events: () => [refused],
    status: "refused",
    charged: { service: "no", paid: "no", free: "no" },
    after: {},
  },
  {
    what: "has lost its reply",
    events: () => [unknown],
    status: "unknown",
    charged: { service: "unknown", paid: "unknown", free: null },
    after: {},
  },
  {
    what: "was dismissed",
    events: () => [unknown, dismissed],
    status: "unknown",
    charged: { service: "unknown", paid: "unknown", free: null },
    after: {},
  },
  {
    what: "is saved",
    events: (folder) => [accepted, completed, savedIn(folder, "https://cdn.example/1.png")],
    status: "completed",
    charged: { service: "yes", ...SERVICE_ONLY },
    after: {},
  },
  {
    what: "is saved from a reply",
    events: (folder) => [started, made, savedIn(folder, null)],
    status: "completed",
    charged: { service: null, paid: "yes", free: "no" },
    after: {},
  },
];

/** A home with this task, and all that can be asked about it. */
async function world(kind: Kind, { what, events, status }: Case) {
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
  const destination: Destination = {
    kind: "folder",
    folder: cwd,
    template: "{slug}.{ext}",
    overwrite: false,
  };
  const intent: Intent = {
    request: { prompt: "a fox", model: kind === "service" ? "gamma-image-2" : "flux" },
    service,
    credits: kind === "free" ? 0 : 2,
    destination,
    ...(kind !== "service" && { work: { ...WORK, isPaid: kind === "paid" } }),
  };
  const id = await leaveTask(home, intent, events(cwd));
  if (/^was made|reply kept$/.test(what)) {
    const folder = ledgerOf(home).work.of(id, 0);
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
  (["service", "paid", "free"] as const).flatMap((kind) => {
    const charged = each.charged[kind];
    return charged === null ? [] : [{ kind, what: each.what, each, charged }];
  }),
);

describe("every view of a task says the same", () => {
  it.each(rows)("of a $kind one that $what: charged $charged", async ({ kind, each, charged }) => {
    const left = await world(kind, each);
    const answer: Answer = { status: each.status, charged, credits: kind === "free" ? 0 : 2 };
    for (const [view, said] of await views(left))
      expect([view, { ...answer, ...said }]).toEqual([view, answer]);
    const { document } = await left.json(["resume", left.id, "--timeout", "5s"]);
    const after = { ...answer, ...each.after[kind] };
    expect(["resume", { ...after, ...answerOf(document as Partial<Answer>) }]).toEqual(["resume", after]);
    for (const [view, said] of await views(left))
      expect([view, { ...after, ...said }]).toEqual([view, after]);
  });

  // The same words again are a new task where nothing is left to do for this one.
  const continued = rows.filter(({ kind, each }) => {
    const record = recordOf(each.events(""), kind === "service" ? undefined : { isPaid: kind === "paid" });
    return isUnknown(record) || isResumable(record.state.name);
  });
  it.each(continued)(
    "as does a generate that continues a $kind one that $what",
    async ({ kind, each, charged }) => {
      const left = await world(kind, each);
      const answer: Answer = { status: each.status, charged, credits: kind === "free" ? 0 : 2 };
      const model = kind === "service" ? "gamma-image-2" : "flux";
      const { document } = await left.json(["generate", "a fox", "-m", model, "--timeout", "5s"]);
      const after = { ...answer, ...each.after[kind] };
      expect(Object.keys((await left.json(["history"])).document)).toHaveLength(1);
      expect(["generate", { ...after, ...answerOf(document as Partial<Answer>) }]).toEqual([
        "generate",
        after,
      ]);
      for (const [view, said] of await views(left))
        expect([view, { ...after, ...said }]).toEqual([view, after]);
    },
  );
});
