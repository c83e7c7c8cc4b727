import { mkdir, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { PackageName } from "../../../src/providers/kinds.ts";
import { installedPackage } from "../../../src/providers/package/load.ts";
import { parseGeneratorSpec } from "../../../src/providers/spec.ts";
import { type Part, serviceDouble } from "../../support/doubles/double.ts";
import { EXAMPLE, installExample } from "../../support/doubles/example.ts";
import { PICTURE } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { type Answer, json } from "../../support/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { pause } from "../../support/wait.ts";
import { ALONE, DATA_REFERENCE, type JobParts, jobFor, opened, polling, told } from "../job.ts";

const { signal } = ALONE;

function named(text: string): PackageName {
  const spec = parseGeneratorSpec(text, "--generator");
  if (spec.kind !== "npm") throw new Error("it is no package");
  return spec;
}

/** A package of one file, as it is installed. @param more of its package.json @returns the folder of settings */
async function installed(code: string, more: object = {}): Promise<string> {
  const config = await temporaryFolder();
  const folder = path.join(config, "providers/node_modules/fox");
  await mkdir(folder, { recursive: true });
  const manifest = { name: "fox", version: "1.0.0", ...more };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  await writeFile(path.join(folder, "index.js"), code);
  return config;
}

/** The documentation's package at a double of its service. */
async function example(script: Partial<Record<Part, Answer>> = {}) {
  const double = await serviceDouble(EXAMPLE, script);
  const config = await temporaryFolder();
  await installExample(config);
  return { double, ...(await providerOf(double.spec, config)) };
}

async function providerOf(text: string, config: string) {
  const provider = await opened(installedPackage(named(text), config), { key: "secret-key-1", isPaid: true });
  onTestFinished(() => provider.close());
  const submit = async (overrides: JobParts = {}) => {
    const job = await jobFor({ isPaid: true, ...overrides });
    const reply = await provider.submit(job, ALONE);
    return { job, reply, ...told(reply) };
  };
  return { provider, submit };
}

/** A package of this code, at a double that answers so. */
async function fox(code: string, script: Partial<Record<Part, Answer>> = {}) {
  const double = await serviceDouble({ ...EXAMPLE, kind: "npm:fox" }, script);
  return { double, ...(await providerOf(double.spec, await installed(code))) };
}

describe("the package of the documentation", () => {
  it("sends one request, with its key in its header", async () => {
    const { double, submit } = await example();
    const { reply } = await submit({ model: "fox-1", fields: { seed: 7 }, references: [DATA_REFERENCE] });
    expect(reply).toEqual({ outcome: "accepted", taskId: "job-1" });
    const [request] = double.submits();
    expect(request).toMatchObject({ target: "/v1/jobs", headers: { "x-api-key": "secret-key-1" } });
    expect(JSON.parse(request?.body ?? "")).toEqual({
      prompt: "a red fox",
      model: "fox-1",
      size: { width: 64, height: 48 },
      image: DATA_REFERENCE.url,
      seed: 7,
    });
  });

  it("is polled until its image is there, is cancelled, and lists its models", async () => {
    const { double, provider } = await example();
    const urls = [`${double.origin}/files/image-1.png?signature=s3cret`];
    const task = { status: "completed", urls, usage: { cost: 2 } };
    expect(await provider.poll?.("job-1", await polling())).toEqual({ outcome: "state", task });
    expect(await provider.cancel?.("job-1", signal)).toBe(true);
    expect(await provider.models?.(signal)).toEqual(["fox-1", "fox-2"]);
  });

  it("finds its job in the reply that had arrived when its process ended", async () => {
    const { submit, provider } = await example();
    const { job } = await submit();
    expect(await provider.recover?.(job, ALONE)).toEqual({ outcome: "accepted", taskId: "job-1" });
  });

  it.each([
    [401, "refused"],
    [404, "retry"],
    [500, "retry"],
  ])("ends no job because a poll is answered with %s", async (status, outcome) => {
    const { provider } = await example({ poll: EXAMPLE.error(status, "no") });
    expect(await provider.poll?.("job-1", await polling())).toMatchObject({ outcome });
  });

  it("refuses a setting that it does not declare, and what its own check refuses", async () => {
    const { provider } = await example();
    const job = await jobFor({ fields: { size: 3 } });
    expect(provider.check?.(job)).toBe("Example has no setting size. It has: steps, seed.");
    const references = [{ url: "https://a.example/1.png" }, { url: "https://a.example/2.png" }];
    expect(provider.check?.(await jobFor({ references }))).toBe("Example takes one reference image.");
  });

  it("says what it would send", async () => {
    const { provider, double } = await example();
    const job = await jobFor({ references: [{ file: "/home/ada/fox.png", mediaType: "image/png" }] });
    expect(await provider.describe?.(job)).toMatchObject({
      url: `${double.origin}/v1/jobs`,
      body: { image: "<file fox.png>" },
    });
  });

  it("is paid for, at its own address, with its version", async () => {
    const config = await temporaryFolder();
    await installExample(config);
    expect(installedPackage(named("npm:imggen-provider-example"), config)).toMatchObject({
      url: "https://api.images.example/v1",
      version: "imggen-provider-example@1.0.0",
      server: { isPaid: true, keyVariables: ["EXAMPLE_API_KEY"] },
    });
  });
});

const HEAD = 'module.exports = { version: 1, title: "Fox", url: "http://localhost:1", create: () => (';

describe("a package that answers with the image itself", () => {
  const code = `${HEAD}{
    request: ({ prompt }) => ({ path: "/draw", body: { prompt } }),
    read: ({ png, no, at, all }) => (all ? { images: all } : png ? { base64: png, usage: { cost: 1 } } : no ? { refused: no } : at ? { url: at } : null),
  }) };`;
  const drawing = (reply: object) => fox(code, { submit: json(reply) });

  it("makes it, and what it cost is kept", async () => {
    const { submit, provider } = await drawing({ png: PICTURE.toString("base64") });
    const { job, reply } = await submit();
    expect(reply).toEqual({ outcome: "made", usage: { cost: 1 } });
    expect(await provider.images?.(job)).toEqual([{ kind: "bytes", bytes: PICTURE }]);
    expect(await provider.recover?.(job, ALONE)).toEqual(reply);
  });

  it("has none any more where the disk has not the end of its reply", async () => {
    const { submit, provider } = await drawing({ png: PICTURE.toString("base64") });
    const { job } = await submit();
    const file = path.join(job.folder, "reply");
    for (const bytes of [(await stat(file)).size - 9, 0]) {
      await truncate(file, bytes);
      await expect(provider.images?.(job)).rejects.toMatchObject({ failure: { kind: "lost" } });
    }
  });

  it.each([
    [{ no: "against the rules" }, "generation_failed"],
    [{ hello: "world" }, "unknown"],
    [{ at: "https://a.example/1.png" }, "made"],
    [{ all: [{ url: "https://a.example/1.png" }, { base64: "AAAA" }] }, "made"],
    [{ all: [] }, "unknown"],
  ])("answers with %j: %s", async (reply, what) => {
    expect((await (await drawing(reply)).submit()).what).toBe(what);
  });
});

describe("a package that may answer with an id or with the image", () => {
  const code = `${HEAD}{
    request: () => ({ path: "/jobs", body: {} }),
    read: (reply) => Array.isArray(reply) ? { id: reply[0].job } : reply.png ? { base64: reply.png } : reply.no ? { refused: reply.no } : undefined,
    poll: async (id, { fetch }) => {
      const [job] = await (await fetch("/jobs/" + id)).json();
      return { status: "done", urls: [job.image] };
    },
  }) };`;
  const PNG = { png: PICTURE.toString("base64") };

  it("makes the image of a reply that holds it, also after a crash", async () => {
    const { submit, provider } = await fox(code, { submit: json(PNG) });
    const { job, reply } = await submit();
    expect(reply).toEqual({ outcome: "made", usage: null });
    expect(await provider.images?.(job)).toEqual([{ kind: "bytes", bytes: PICTURE }]);
    expect(await provider.recover?.(job, ALONE)).toEqual(reply);
  });

  it.each([
    [{ no: "against the rules" }, "generation_failed"],
    [{ hello: "world" }, "unknown"],
  ])("answers with %j: %s", async (reply, what) => {
    expect((await (await fox(code, { submit: json(reply) })).submit()).what).toBe(what);
  });

  it("is told lists as they are", async () => {
    const { submit, provider } = await fox(code, {
      submit: json([{ job: "job-1" }]),
      poll: json([{ image: "https://a.example/1.png" }]),
    });
    expect((await submit()).reply).toEqual({ outcome: "accepted", taskId: "job-1" });
    expect(await provider.poll?.("job-1", await polling())).toMatchObject({
      task: { status: "completed", urls: ["https://a.example/1.png"] },
    });
  });
});

describe("a package", () => {
  it.each([
    ["module.exports = {};", "its exported version is undefined, and only version 1 is supported"],
    ["module.exports = { version: 2 };", "its exported version is 2, and only version 1 is supported"],
    ["module.exports = { version: 1, title: 'x', url: 'nowhere' };", "it has no url"],
    ["module.exports = { version: 1, title: 'x', url: 'https://x.example' };", "or no create"],
    ["throw new Error('boom');", "cannot be loaded: boom"],
    ["module.exports = null;", "its exported version is undefined"],
    [`${HEAD}{}), concurrency: 0 };`, "its field concurrency is not 1 or a larger whole number"],
    [`${HEAD}{}), otherHosts: "images.example" };`, "its field otherHosts is not a suffix of host names"],
    [`${HEAD}{}), keyVariables: "FOX_KEY" };`, "its field keyVariables is not a list of strings"],
  ])("that is %s is refused", async (code, why) => {
    const config = await installed(code);
    expect(() => installedPackage(named("npm:fox"), config)).toThrow(why);
  });

  it("is never loaded from anywhere but imggen's own folder", async () => {
    // Above it, and in the current folder, where Node would look.
    const providers = path.join(await installed("throw new Error('loaded');"), "providers");
    const config = path.join(providers, "config");
    expect(() => installedPackage(named("npm:fox"), config)).toThrow("is not installed for imggen");
    expect(() => installedPackage(named("npm:vitest"), config)).toThrow("is not installed for imggen");
  });

  it.each(["npm:", "npm:../fox", "npm:/etc/fox", "npm:.hidden", "npm:a/b/c", "npm:fox:file:///x"])(
    "is not named %s",
    (text) => expect(() => parseGeneratorSpec(text, "--generator")).toThrow(/does not name a package/),
  );

  it.each([
    ["create", `${HEAD} (() => { throw new Error("boom"); })()) };`],
    ["keyHeaders", `${HEAD}{}), keyHeaders: () => { throw new Error("boom"); } };`],
  ])("whose %s throws is named, as no bug of imggen", async (_what, code) => {
    const config = await installed(code);
    await expect(providerOf("npm:fox", config)).rejects.toThrow("The package for Fox cannot be used: boom.");
  });

  it.each([
    ["throws", "{ throw new Error('boom'); }", "The package cannot check the request: boom."],
    ["answers with false", "{ return false; }", null],
  ])("whose check %s", async (_what, body, problem) => {
    const { provider } = await providerOf("npm:fox", await installed(`${HEAD}{ check() ${body} }) };`));
    expect(provider.check?.(await jobFor())).toBe(problem);
  });

  it.each([
    ["a failure without a reason", `status: "failed", why: undefined`, { status: "failed" }],
    [
      "a URL in place of a list, and a cost that is not there",
      `status: "done", urls: "https://a.example/1.png", usage: { cost: undefined }`,
      { status: "completed", urls: ["https://a.example/1.png"] },
    ],
    [
      "a URL relative to its server",
      `status: "done", urls: ["/files/1.png"]`,
      { status: "completed", urls: ["http://localhost:1/files/1.png"] },
    ],
    ["no URL at all", `status: "done"`, { status: "completed", urls: [] }],
  ])("may say of a job %s", async (_what, said, task) => {
    const { provider } = await providerOf(
      "npm:fox",
      await installed(`${HEAD}{ poll: () => ({ ${said} }) }) };`),
    );
    expect(await provider.poll?.("job-1", await polling())).toMatchObject({ outcome: "state", task });
  });

  it.each([
    ["throws", "() { throw new Error('no list'); }", "no list"],
    ["gets no list from its server", ": async () => (await fetch('/models')).json()", "HTTP 404"],
    ["answers with no list", ": () => ({ a: 1 })", "not a list"],
  ])("whose models() %s says nothing of any model", async (_what, models, why) => {
    const code = `${HEAD.replace("()", "({ fetch })")}{ models${models} }) };`;
    const { origin } = await liveServer(json({}, 404));
    const { provider } = await providerOf(`npm:fox:${origin}`, await installed(code));
    await expect(provider.models?.(signal)).rejects.toMatchObject({
      failure: { kind: "unsent" },
      message: expect.stringContaining(why),
    });
  });

  it("whose poll never ends has failed to answer that poll", async () => {
    const code = `${HEAD}{ poll: () => new Promise(() => {}) }) };`;
    const { provider } = await providerOf("npm:fox", await installed(code));
    const again = { outcome: "retry", why: "the package does not answer within 20 ms" };
    expect(await provider.poll?.("job-1", await polling({ timeoutMs: 20 }))).toMatchObject(again);
  });

  it("whose request is never ready is given up with the signal, and nothing is sent", async () => {
    const code = `${HEAD}{ request: () => new Promise(() => {}), read: () => null }) };`;
    const { provider } = await providerOf("npm:fox", await installed(code));
    const given = { ...ALONE, signal: AbortSignal.timeout(20) };
    expect(await provider.submit(await jobFor({ isPaid: true }), given)).toMatchObject({
      outcome: "not_sent",
    });
  });

  it("whose request cannot be made sends nothing", async () => {
    const code = `${HEAD}{ request: () => { throw new Error("no such style"); }, read: () => null }) };`;
    const { submit, double } = await fox(code);
    const message = "The package cannot build a request: no such style.";
    expect(await submit()).toMatchObject({ what: "invalid_request", message });
    expect(double.requests).toEqual([]);
  });

  it("gets nothing from other hosts than its API's", async () => {
    const code = `${HEAD}{
      request: () => ({ path: "/x", body: {} }),
      read: ({ job }) => ({ id: job }),
      poll: (id, { fetch }) => fetch("https://evil.example/" + id),
    }) };`;
    const { double, provider } = await fox(code);
    expect(await provider.poll?.("job-1", await polling())).toMatchObject({ outcome: "refused" });
    expect(double.requests).toEqual([]);
  });
});

describe("the code of a package", () => {
  const MODULE = `export default { version: 1, title: "Fox", url: "http://localhost:1", create: () => ({}) };`;

  it("may have exports for import alone, and a top-level await", async () => {
    const code = `const { port } = await Promise.resolve({ port: 2 });\n${MODULE.replace(":1", ":2")}`;
    const only = await installed(code, { type: "module", exports: { import: "./index.js" } });
    expect(installedPackage(named("npm:fox"), only)).toMatchObject({ url: "http://localhost:2" });
  });

  it.each([
    ["import left from 'left-of-fox';", { type: "module", exports: "./index.js" }],
    ["require('left-of-fox');", {}],
  ])("that lacks a dependency (%s) is refused with its name and how to install it", async (code, more) => {
    const config = await installed(code, more);
    expect(() => installedPackage(named("npm:fox"), config)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/cannot be loaded: Cannot find .*'left-of-fox'/),
        hint: expect.stringContaining("npm install --prefix"),
      }),
    );
  });

  it("may make objects of a class", async () => {
    const code = `class Fox { #a = 1; check() { return "a" + this.#a; } }\n${HEAD}new Fox()) };`;
    const { provider } = await providerOf("npm:fox", await installed(code));
    expect(provider.check?.(await jobFor())).toBe("a1");
  });

  it("prints to standard error, whatever it prints to", async () => {
    const code = `console.log("loaded"); ${HEAD}{ check() { process.stdout.write("checked\\n"); console.error("wrong"); } }) };`;
    const written = { stdout: "", stderr: "" };
    const spies = (["stdout", "stderr"] as const).map((name) =>
      vi.spyOn(process[name], "write").mockImplementation((text) => {
        written[name] += text;
        return true;
      }),
    );
    onTestFinished(() => spies.forEach((spy) => void spy.mockRestore()));
    const { provider } = await providerOf("npm:fox", await installed(code));
    provider.check?.(await jobFor());
    await expect.poll(() => written.stderr).toMatch(/loaded[\s\S]*checked[\s\S]*wrong/);
    expect(written.stdout).toBe("");
  });
});

describe("a package that fails outside of its functions", () => {
  const STRAY: [what: string, code: string, why: RegExp][] = [
    ["a rejection that nothing handles", "Promise.reject(new Error('boom'))", /fox was stopped: .*: boom/],
    ["a timer that throws", "setTimeout(() => { throw new Error('boom'); })", /fox was stopped: .*: boom/],
    ["process.exit", "process.exit(7)", /fox was stopped: it ended with exit code 7/],
  ];
  const functions = (at: string, stray: string) => {
    const end = (name: string) =>
      name === at ? `globalThis.count = 1; ${stray}; return new Promise(() => {});` : "";
    return `${HEAD}{
      request() { ${end("request")} return { path: "/jobs", body: {} }; },
      read(reply) { ${end("read")} return { id: "job-1" }; },
      poll() { ${end("poll")} return { status: "running" }; },
    }) };`;
  };

  it.each(STRAY)(
    "by %s while it makes a request has sent nothing, and is named",
    async (_what, stray, why) => {
      const { double, submit } = await fox(functions("request", stray));
      expect(await submit()).toMatchObject({ what: "invalid_request", message: expect.stringMatching(why) });
      expect(double.requests).toEqual([]);
    },
  );

  it.each(STRAY)("by %s while it reads a paid reply: it is unknown, and kept", async (_what, stray, why) => {
    const { job, reply } = await (await fox(functions("read", stray))).submit();
    const savedPath = path.join(job.folder, "reply");
    expect(reply).toMatchObject({ outcome: "unknown", why: expect.stringMatching(why), savedPath });
  });

  it.each(STRAY)("by %s in a poll is polled again, in a new thread", async (_what, stray, why) => {
    const { provider, submit } = await providerOf("npm:fox", await installed(functions("poll", stray)));
    const again = { outcome: "retry", why: expect.stringMatching(why) };
    for (let tries = 0; tries < 2; tries++)
      expect(await provider.poll?.("job-1", await polling())).toMatchObject(again);
    expect((await submit()).what).toBe("not_sent");
  });

  it("between two calls is loaded again for the next", async () => {
    const code = functions("", "").replace("poll() {", "poll() { setTimeout(() => process.exit(3));");
    const { provider } = await providerOf("npm:fox", await installed(code));
    for (let tries = 0; tries < 3; tries++) {
      expect(await provider.poll?.("job-1", await polling())).toMatchObject({ outcome: "state" });
      await pause(50);
    }
  });
});
