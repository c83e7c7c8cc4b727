import { describe, expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";
import { answers, type Part, type ServiceForm } from "../../support/doubles/double.ts";
import { FAL } from "../../support/doubles/fal.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { OPENAI } from "../../support/doubles/synchronous.ts";
import { PICTURE } from "../../support/images.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";
import { type Behaviour, failure, json as jsonReply, response } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies } from "../../support/scripts.ts";

const ANSWERS: [string, ServiceForm, Part, Behaviour][] = [
  ["404 at fal", FAL, "poll", answers(() => FAL.error(404, "no such job"))],
  ["a page in place of the result", FAL, "result", answers(() => response(200, "<html>Welcome</html>"))],
];

/** A paid service, and what dismisses its only task. */
async function goneWorld(...options: Parameters<typeof paidService>) {
  const service = await paidService(...options);
  const dismissed = async () => {
    const [id = ""] = await openTasks(service.home);
    expect(await service.json(["resume", id, "--dismiss", "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(service.home)).toEqual([]);
  };
  return { ...service, dismissed };
}

const NO_LONGER_KNOWN = {
  code: 9,
  document: {
    ...{ charged: "yes", state: "accepted" },
    error: {
      type: "outcome_unknown",
      message: expect.stringContaining("no longer known to the service"),
      hint: expect.stringContaining("--dismiss"),
    },
  },
};

describe.each(ANSWERS)("a paid job whose polls are answered with %s", (_what, form, part, behaviour) => {
  it("is no longer known after 30 s, stays open, is asked for once by each resume, and can be dismissed", async () => {
    const { json, generate, double, home, dismissed } = await goneWorld(form, { [part]: behaviour });
    expect(await json(generate)).toMatchObject(NO_LONGER_KNOWN);
    const [id = ""] = await openTasks(home);
    const before = double.asked(part).length;
    expect(before).toBeGreaterThan(5);
    for (const command of [["resume"], ["resume", id], ["status", id]])
      expect(await json([...command, "--generator-paid"])).toMatchObject({ code: 9 });
    expect(double.asked(part).length).toBe(before + 3);
    await dismissed();
    expect(double.submits()).toHaveLength(1);
  }, 30_000);
});

describe("a paid job that is no longer known", () => {
  it("is saved by the next resume if the service has it again", async () => {
    let isAway = true;
    const poll: Behaviour = (request, socket) => {
      const origin = `http://${request.headers.host}`;
      socket.write(isAway ? FAL.error(404, "no such job") : (FAL.replies.poll?.(origin, 1) ?? ""));
    };
    const { json, generate, home, double } = await paidService(FAL, { poll });
    expect((await json(generate)).code).toBe(9);
    isAway = false;
    expect(await json(["resume", "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(double.submits()).toHaveLength(1);
  }, 30_000);

  it("is no such job while the wait lasts less than 30 s: it cannot be dismissed", async () => {
    const { json, generate, home } = await paidService(FAL, {
      poll: answers(() => FAL.error(404, "no such job")),
    });
    expect(await json([...generate, "--timeout", "10s"])).toMatchObject({
      code: 6,
      document: { error: { type: "pending" }, charged: "yes" },
    });
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", id, "--dismiss", "--generator-paid"])).toMatchObject({ code: 2 });
  });
});

describe("images whose URLs have expired", () => {
  it("can be dismissed where another image of the same task is saved", async () => {
    const output = (origin: string) => [`${origin}/a.png`, `${origin}/b.png`];
    const { json, generate, double, dismissed } = await goneWorld(REPLICATE, {
      poll: answers((origin) => jsonReply({ status: "succeeded", output: output(origin) })),
      file: inTurn(response(200, PICTURE, { "content-type": "image/png" }), response(404, "")),
    });
    expect((await json(generate)).code).toBe(8);
    await dismissed();
    const { document } = await json(["history"]);
    expect(document).toMatchObject([{ status: "completed", files: [{ url: `${double.origin}/a.png` }] }]);
    expect(double.submits()).toHaveLength(1);
  });
});

it.each<[string, ServiceForm, object]>([
  ["whose URL has expired", REPLICATE, {}],
  [
    "that a reply named, and that its server no longer has",
    {
      ...OPENAI,
      partOf: ({ method, target }) => (method === "GET" ? "file" : OPENAI.partOf({ method, target })),
    },
    { submit: answers((origin) => jsonReply({ data: [{ url: `${origin}/1.png` }] })) },
  ],
])("an image %s can be dismissed, once that was seen", async (_which, form, script) => {
  const file = answers(() => response(404, ""));
  const { json, generate, double, home, dismissed } = await goneWorld(form, { ...script, file });
  expect(await json(generate)).toMatchObject({ code: 8, document: { charged: "yes", state: "made" } });
  const [id = ""] = await openTasks(home);
  expect(await json(["resume", id])).toMatchObject({ code: 8 });
  await dismissed();
  expect(double.submits()).toHaveLength(1);
});

describe("a paid job of unknown outcome, whose result had no image", () => {
  it("is polled again where it is named, and only resume opens it again", async () => {
    let isMade = false;
    const poll: Behaviour = (request, socket) => {
      const origin = `http://${request.headers.host}`;
      const none = jsonReply({ status: "succeeded", output: null });
      socket.write(isMade ? (REPLICATE.replies.poll?.(origin, 1) ?? "") : none);
    };
    const { json, generate, home, double } = await paidService(REPLICATE, { poll });
    expect((await json(generate)).code).toBe(9);
    const [id = ""] = await openTasks(home);
    isMade = true;
    const polled = await json(["status", id, "--generator-paid"]);
    expect(polled).toMatchObject({ code: 0, document: { status: "completed" } });
    expect(await json(["resume", id, "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(double.submits()).toHaveLength(1);
  });
});

describe("a task that the service itself no longer knows", () => {
  it("is said to be so after 30 s of HTTP 404, stays open, and is saved when it is known again", async () => {
    let isAway = true;
    const { json, home, server } = await commandWorld({
      poll: (request, socket) => {
        if (isAway) socket.write(response(404, "<html>Not here</html>"));
        else completedAt("/1.png")(request, socket);
      },
    });
    expect(await json(["generate", "a fox"])).toMatchObject(NO_LONGER_KNOWN);
    const polls = server.requests.length;
    expect(await json(["resume"])).toMatchObject({ code: 9 });
    expect(server.requests.length).toBe(polls + 1);
    isAway = false;
    expect(await json(["resume"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(server.submits()).toHaveLength(1);
  }, 30_000);

  it("stays open, and can be dismissed 30 s after its acceptance, and no sooner", async () => {
    const key = "image_generation.error.unknown_error";
    const { json, home, server } = await commandWorld({ poll: replies(failure(key)) });
    expect(await json(["generate", "a fox", "--timeout", "10s"])).toMatchObject({ code: 6 });
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", id, "--dismiss"])).toMatchObject({ code: 2 });
    const error = { type: "service_error", key };
    const refused = { code: 5, document: { error, charged: "yes", state: "accepted" } };
    for (const command of [
      ["generate", "a fox"],
      ["resume", id],
    ])
      expect(await json(command)).toMatchObject(refused);
    expect(await json(["resume", id, "--dismiss"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(server.submits()).toHaveLength(1);
  }, 30_000);
});
