import type { Socket } from "node:net";
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
import { completedAt, replies } from "../../support/scripts.ts";

const ANSWERS: [string, ServiceForm, Part, Behaviour][] = [
  ["404 at fal", FAL, "poll", answers(() => FAL.error(404, "no such job"))],
  ["a page in place of the result", FAL, "result", answers(() => response(200, "<html>Welcome</html>"))],
];

describe.each(ANSWERS)("a paid job whose polls are answered with %s", (_what, form, part, behaviour) => {
  it("is no longer known after 30 s, stays open, is asked for once by each resume, and can be dismissed", async () => {
    const service = await paidService(form, { [part]: behaviour });
    const { json, generate, double, home } = service;
    const first = await json(generate);
    expect(first).toMatchObject({
      code: 9,
      document: {
        error: {
          type: "outcome_unknown",
          message: expect.stringContaining("no longer known to the service"),
        },
        charged: "yes",
        state: "accepted",
      },
    });
    expect(first.document.error?.hint).toContain("--dismiss");
    const [id = ""] = await openTasks(home);
    const before = double.asked(part).length;
    expect(before).toBeGreaterThan(5);
    for (const command of [["resume"], ["resume", id], ["status", id]])
      expect(await json([...command, "--generator-paid"])).toMatchObject({ code: 9 });
    expect(double.asked(part).length).toBe(before + 3);
    expect(await json(["resume", id, "--dismiss", "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
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
    let files = 0;
    const { json, generate, home, double } = await paidService(REPLICATE, {
      poll: answers((origin) =>
        jsonReply({ status: "succeeded", output: [`${origin}/a.png`, `${origin}/b.png`] }),
      ),
      file: (_request: unknown, socket: Socket) => {
        files += 1;
        socket.write(
          files === 1 ? response(200, PICTURE, { "content-type": "image/png" }) : response(404, ""),
        );
      },
    });
    expect((await json(generate)).code).toBe(8);
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", id, "--dismiss", "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    const { document } = await json(["history"]);
    expect(document).toMatchObject([{ status: "completed", files: [{ url: `${double.origin}/a.png` }] }]);
    expect(double.submits()).toHaveLength(1);
  });

  it("can be dismissed, once that was seen", async () => {
    const { json, generate, home } = await paidService(REPLICATE, { file: answers(() => response(404, "")) });
    expect(await json(generate)).toMatchObject({ code: 8, document: { charged: "yes", state: "made" } });
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", id, "--dismiss", "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
  });
});

describe("an image that a reply named, and that its server no longer has", () => {
  it("can be dismissed, once that was seen", async () => {
    const { json, generate, home, double } = await paidService(
      {
        ...OPENAI,
        partOf: ({ method, target }) => (method === "GET" ? "file" : OPENAI.partOf({ method, target })),
      },
      {
        submit: answers((origin) => jsonReply({ data: [{ url: `${origin}/1.png` }] })),
        file: answers(() => response(404, "")),
      },
    );
    expect(await json(generate)).toMatchObject({ code: 8, document: { charged: "yes", state: "made" } });
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", id])).toMatchObject({ code: 8 });
    expect(await json(["resume", id, "--dismiss", "--generator-paid"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(double.submits()).toHaveLength(1);
  });
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
    expect(await json(["generate", "a fox"])).toMatchObject({
      code: 9,
      document: {
        error: {
          type: "outcome_unknown",
          message: expect.stringContaining("no longer known to the service"),
          hint: expect.stringContaining("--dismiss"),
        },
        charged: "yes",
        state: "accepted",
      },
    });
    const polls = server.requests.length;
    expect(await json(["resume"])).toMatchObject({ code: 9 });
    expect(server.requests.length).toBe(polls + 1);
    isAway = false;
    expect(await json(["resume"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(server.submits()).toHaveLength(1);
  }, 30_000);

  it("stays open, and can be dismissed 30 s after its acceptance", async () => {
    const { json, home, server } = await commandWorld({
      poll: replies(failure("image_generation.error.unknown_error")),
    });
    const refused = {
      code: 5,
      document: {
        error: { type: "service_error", key: "image_generation.error.unknown_error" },
        charged: "yes",
        state: "accepted",
      },
    };
    expect(await json(["generate", "a fox"])).toMatchObject(refused);
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", id])).toMatchObject(refused);
    expect(await json(["resume", id, "--dismiss"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect(server.submits()).toHaveLength(1);
  }, 30_000);

  it("cannot be dismissed sooner", async () => {
    const { json, home } = await commandWorld({
      poll: replies(failure("image_generation.error.unknown_error")),
    });
    expect(await json(["generate", "a fox", "--timeout", "10s"])).toMatchObject({ code: 6 });
    const [id = ""] = await openTasks(home);
    expect(await json(["resume", id, "--dismiss"])).toMatchObject({ code: 2 });
  });
});
