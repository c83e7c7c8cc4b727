import { describe, expect, it } from "vitest";
import { type Probe, probe } from "../../../src/providers/service/probe.ts";
import { liveServer } from "../../support/live-server.ts";
import { type Behaviour, failure, json, response } from "../../support/scripted-server.ts";
import { cutShort, replies, silence } from "../../support/scripts.ts";

const KEY = "sk-canary-probe-1234567890";

async function probed(behave: Behaviour, options: Partial<Probe> = {}) {
  const server = await liveServer(behave);
  const { signal } = new AbortController();
  const { baseUrl } = server;
  const reply = probe({ baseUrl, apiKey: KEY, timeoutMs: 2_000, signal, ...options });
  return { server, reply: await reply.catch((error: unknown) => error) };
}

describe("a probe", () => {
  it("polls a task that does not exist, and submits nothing", async () => {
    const { server, reply } = await probed(replies(failure("login_required")));
    expect(reply).toMatchObject({ status: 200, envelope: { kind: "error", key: "login_required" } });
    expect(server.requests).toMatchObject([
      { method: "GET", target: "/api/generate-image?taskId=imggen-key-check", body: "" },
    ]);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it("without a key sends none", async () => {
    const { server } = await probed(replies(failure("login_required")), { apiKey: null });
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it("reports the service's clock, where that is a date", async () => {
    const at = (date: string) => replies(json({ code: 0, message: "ok" }, 200, { date }));
    const told = await probed(at("Sun, 22 Nov 2026 12:00:00 GMT"));
    expect(told.reply).toMatchObject({ dateMs: Date.UTC(2026, 10, 22, 12) });
    expect((await probed(at("tomorrow"))).reply).toMatchObject({ dateMs: null });
    expect((await probed(replies(failure("x")))).reply).toMatchObject({ dateMs: null });
  });

  it("shows no key that the service repeats", async () => {
    const { reply } = await probed(replies(failure(`no task for ${KEY}`)));
    expect(JSON.stringify(reply)).not.toContain(KEY);
  });

  it("says what came in place of the service's envelope", async () => {
    const { reply } = await probed(replies(response(404, "<html>nothing here</html>")));
    expect(reply).toMatchObject({ status: 404, envelope: { kind: "invalid", why: "an HTML page" } });
  });

  it.each([
    ["is silent", silence],
    ["breaks off", cutShort(failure("login_required"), 40)],
  ])("fails where the service %s", async (_what, behave) => {
    expect((await probed(behave, { timeoutMs: 200 })).reply).toMatchObject({ name: "TransportError" });
  });
});
