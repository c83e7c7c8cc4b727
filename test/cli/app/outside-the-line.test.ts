import { symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";
import { failure } from "../../support/scripted-server.ts";

describe("what is refused before anything is sent", () => {
  it.each(["?", "#", "?x=1"])("a base URL with %j in it", async (tail) => {
    const { run, server } = await commandWorld();
    const env = { IMGGEN_BASE_URL: `${server.baseUrl}${tail}` };
    expect((await run(["generate", "a fox"], { env })).code).toBe(2);
    expect(server.requests).toEqual([]);
  });

  it.each(["http://", "socks5://127.0.0.1:1", "::"])("a proxy that is none: %j", async (proxy) => {
    const { json, listing, server } = await commandWorld();
    const { code, document } = await json(["generate", "a fox"], { env: { HTTP_PROXY: proxy } });
    expect([code, document.error?.type, document.charged]).toEqual([2, "usage", "no"]);
    expect(server.requests).toEqual([]);
    expect((await listing()).filter((file) => file.endsWith(".jsonl"))).toEqual([]);
  });

  it("a link that leads nowhere, to be overwritten", async () => {
    const { run, cwd, server } = await commandWorld();
    await symlink("nowhere", path.join(cwd, "link.png"));
    expect((await run(["generate", "a fox", "--output", "link.png", "--overwrite"])).code).toBe(2);
    expect(server.requests).toEqual([]);
  });

  it.each(["status", "resume"])("standard output as the place where %s saves", async (command) => {
    const { run } = await commandWorld();
    expect((await run([command, "task-1", "--output", "-"])).code).toBe(2);
  });
});

describe("under --sandbox", () => {
  it.each(["status", "resume"])("%s of a real task never reaches the service", async (command) => {
    const { run, server } = await commandWorld();
    await run(["generate", "a fox", "--no-wait"]);
    const asked = server.requests.length;
    expect((await run([command, "task-1", "--sandbox"])).code).toBe(2);
    expect(server.requests).toHaveLength(asked);
  });

  it("login never sends the key anywhere", async () => {
    const { run, server } = await commandWorld();
    expect((await run(["login", "--sandbox"], { input: "sk-canary\n" })).code).toBe(2);
    expect(server.requests).toEqual([]);
  });
});

describe("login --verbose", () => {
  it("logs the poll that checks the key, and not the key", async () => {
    const { run } = await commandWorld();
    const { code, stderr } = await run(["login", "--verbose"], { input: "sk-canary-1234567890\n" });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/api\/generate-image\?…: 200, /);
    expect(stderr).not.toContain("canary");
  });
});

describe("a charged task whose poll is refused", () => {
  it.each([
    "my_credits.no_credits_description",
    "SUBSCRIPTION_REQUIRED",
    "image_generation.error.empty_prompt",
  ])("with %s is never said to have cost nothing", async (key) => {
    const poll = (_: unknown, socket: { write(bytes: Buffer): void }) => void socket.write(failure(key));
    const { json } = await commandWorld({ poll });
    const { document } = await json(["generate", "a fox"]);
    expect(document).toMatchObject({ charged: "yes", resume: "imggen resume task-1" });
    expect(document.error?.hint).toBe("It was charged. Resume with: imggen resume task-1");
  });
});

describe("generate --dry-run --json", () => {
  it("says in its warnings that a price is an estimate", async () => {
    const { json } = await commandWorld();
    const { document } = await json(["generate", "a fox", "-m", "gamma-image-2", "--dry-run"]);
    expect(document).toMatchObject({ credits: 2, warnings: [expect.stringContaining("estimate")] });
  });
});
