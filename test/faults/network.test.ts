import { spawnSync } from "node:child_process";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { foxes, jsonLines } from "../support/batch-world.ts";
import { blackHole } from "../support/black-hole.ts";
import { selfSigned, trusting } from "../support/certificate.ts";
import { PICTURE } from "../support/images.ts";
import { deadPort, liveService } from "../support/live-server.ts";
import { NOT_SENT, programWorld, SAVED, serviceWorld, UNKNOWN } from "../support/program-world.ts";
import { failure, json, response, success } from "../support/scripted-server.ts";
import {
  completedAt,
  cutShort,
  drips,
  inTurn,
  replies,
  reset,
  silence,
  stillRunning,
} from "../support/scripts.ts";
import { QUICK } from "../support/shell.ts";
import { startedWhen } from "../support/started.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { pause } from "../support/wait.ts";

const PORTAL = response(200, "<html><title>Welcome to the hotel</title></html>", {
  "content-type": "text/html",
});
const ACCEPTED = success({ taskId: "task-1" });

it("DNS failure: nothing was sent, and nothing is left to resume", async () => {
  const world = await programWorld(null, { IMGGEN_BASE_URL: "https://service.invalid/api" });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(NOT_SENT);
  expect(JSON.parse(run.stdout).error.message).toContain("service.invalid");
  expect(await world.afterResume()).toMatchObject({ exit: 0, done: ["not_sent"] });
});

it("connection refused: tried four times with pauses, then given up as not sent", async () => {
  const address = { IMGGEN_BASE_URL: `http://127.0.0.1:${await deadPort()}/api` };
  const world = await programWorld(null, { ...address, NODE_OPTIONS: undefined });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(NOT_SENT);
  expect(run.stderr.match(/Next try/g)).toHaveLength(3);
});

it("unreachable: nothing was sent", async (test) => {
  // A network of its own, with nothing in it.
  const alone = ["unshare", "--map-root-user", "--net"];
  if (spawnSync("sh", ["-c", `${alone.join(" ")} true`]).status !== 0) {
    return test.skip("needs a network namespace");
  }
  const world = await programWorld(null, { IMGGEN_BASE_URL: "https://192.0.2.1/api" });
  const run = await world.generate([], { through: alone });
  expect(await world.aftermath(run)).toEqual(NOT_SENT);
  expect(JSON.parse(run.stdout).error.message).toContain("unreachable");
});

it("connect timeout: a submit that never got a connection was not sent", async (test) => {
  const port = await blackHole();
  if (port === null) return test.skip("needs a listen queue that drops connections when it is full");
  const world = await programWorld(null, { IMGGEN_BASE_URL: `http://127.0.0.1:${port}/api` });
  const run = await world.generate(["--request-timeout", "300ms"]);
  expect(await world.aftermath(run)).toEqual(NOT_SENT);
  expect(run.elapsedMs).toBeLessThan(20_000);
});

it("bad certificate of a generator: not sent, and NODE_EXTRA_CA_CERTS is named", async () => {
  const server = await liveService(PICTURE, {}, selfSigned("localhost"));
  const world = await programWorld(server);
  const run = await world.generate(["--generator", `${server.origin}/v1`]);
  expect(await world.aftermath(run)).toMatchObject({ exit: 7, charged: "no", submits: 0, open: [] });
  const { message, hint } = JSON.parse(run.stdout).error;
  expect(message).toMatch(/^No trusted connection to localhost:\d+: its certificate is self-signed /);
  expect(hint).toContain("NODE_EXTRA_CA_CERTS");
});

it("bad certificate: not sent, NODE_EXTRA_CA_CERTS is named, and no insecure way is offered", async () => {
  const certificate = selfSigned("localhost");
  const server = await liveService(PICTURE, {}, certificate);
  const world = await programWorld(server);
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(NOT_SENT);
  expect(JSON.parse(run.stdout).error.hint).toContain("NODE_EXTRA_CA_CERTS");
  expect(run.stderr).not.toContain("Next try");
  expect((await world.run(["generate", "--help"])).stdout).not.toMatch(/insecure|skip-verify|no-check/);
  const env = trusting(certificate, world.folder);
  expect(await world.afterGenerate([], { env })).toEqual({ ...SAVED, done: ["not_sent", "saved"] });
});

it.each([
  ["reset after send", reset],
  ["reply cut mid-JSON", cutShort(ACCEPTED, ACCEPTED.length - 8)],
  ["captive-portal HTML with 200", replies(PORTAL)],
])("%s at the submit: outcome unknown, and never sent again", async (_name, submit) => {
  const { world } = await serviceWorld({ submit });
  expect(await world.afterGenerate()).toEqual(UNKNOWN);
  expect(await world.afterResume()).toMatchObject({ ...UNKNOWN, type: null, charged: null });
});

it("silence at the submit, longer than a request may take: outcome unknown", async () => {
  const { world } = await serviceWorld({ submit: silence });
  expect(await world.afterGenerate(["--request-timeout", "400ms"])).toEqual(UNKNOWN);
});

it("a reply that drips slowly but comes to its end is accepted like any other", async () => {
  const { world } = await serviceWorld({
    submit: drips(ACCEPTED, 8, 20),
    file: drips(response(200, PICTURE), 40, 10),
  });
  expect(await world.afterGenerate(["--request-timeout", "2s"])).toEqual(SAVED);
});

it("no network error ends a wait: reset, silence, cut reply, 5xx, 429, HTML, redirect", async () => {
  const { server, world } = await serviceWorld({
    poll: inTurn(
      reset,
      silence,
      cutShort(success({ status: "completed" }), 60),
      replies(failure("image_generation.error.unknown_error", 503)),
      replies(json({ code: -1, message: "slow down" }, 429, { "retry-after": "0" })),
      replies(PORTAL),
      replies(response(302, "", { location: "/elsewhere" })),
      stillRunning,
      completedAt("/1.png"),
    ),
  });
  expect(await world.afterGenerate(["--request-timeout", "500ms"])).toEqual(SAVED);
  expect(server.requests.map(({ target }) => target)).not.toContain("/elsewhere");
}, 60_000);

it("stale keep-alive: a connection that the service dropped in between costs nothing but a new one", async () => {
  const { world } = await serviceWorld({
    submit: (_request, socket) => {
      socket.write(ACCEPTED);
      setTimeout(() => socket.destroy(), 20);
    },
    poll: inTurn(stillRunning, reset, completedAt("/1.png")),
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("a service that closes idle connections unannounced: of many submits none is unknown", async () => {
  const ROWS = 60;
  let tasks = 0;
  const idle = new Map<Socket, NodeJS.Timeout>();
  const answer = (socket: Socket, bytes: Buffer) => {
    socket.write(bytes);
    idle.set(
      socket,
      setTimeout(() => socket.destroy(), 5),
    );
  };
  const { world } = await serviceWorld({
    submit: (_request, socket) => {
      // Here it was closed while the submit was in flight.
      if (idle.has(socket)) return void socket.resetAndDestroy();
      tasks += 1;
      answer(socket, success({ taskId: `task-${tasks}` }));
    },
    poll: (request, socket) => {
      clearTimeout(idle.get(socket));
      const resultUrl = `http://${request.headers.host}/1.png`;
      answer(socket, success({ status: "completed", resultUrl }));
    },
  });
  const manifest = await world.manifest(foxes(ROWS));
  const flags = ["-m", "z-image", "--poll-interval", "100ms", "--concurrency", "6", "--yes", "--json"];
  const run = await world.run(["batch", manifest, "-o", world.out, ...flags]);
  expect(jsonLines(run.stdout).at(-1)).toMatchObject({ rows: ROWS, saved: ROWS, unknown: 0 });
  expect(run.code).toBe(0);
  expect(tasks).toBe(ROWS);
});

it.each(["status", "resume"])(
  "a network that stays away from an id that no one has seen: %s ends with exit 7",
  async (command) => {
    const world = await programWorld(null, { IMGGEN_BASE_URL: `http://127.0.0.1:${await deadPort()}/api` });
    const flags = command === "status" ? ["--wait"] : [];
    const run = await world.run([command, "task-404", ...flags, "--timeout", "300ms", "--json"]);
    expect(await world.aftermath(run)).toMatchObject({ exit: 7, type: "network", charged: "unknown" });
  },
);

it.each(["refuse", "hang up"] as const)(
  "a proxy that does %s: not sent, and it never sees the key",
  async (behaviour) => {
    const proxy = await tunnelProxy(behaviour);
    const service = { IMGGEN_BASE_URL: "https://service.example/api" };
    const world = await programWorld(null, { ...service, HTTPS_PROXY: proxy.url });
    expect(await world.afterGenerate()).toEqual(NOT_SENT);
    expect(proxy.heads).toHaveLength(4);
    expect(proxy.heads.join()).not.toMatch(/authorization|sk-canary/i);
  },
);

it("the embedded sandbox is never proxied", async () => {
  const proxy = await tunnelProxy("refuse");
  const world = await programWorld(null, { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
  const run = await world.run(["generate", "a fox", ...QUICK, "--json", "--sandbox", "-m", "z-image"]);
  expect(await world.aftermath(run)).toMatchObject({ exit: 0, done: ["saved"] });
  expect(proxy.heads).toEqual([]);
});

it("a service on this machine is never proxied: a proxy elsewhere would get the key in the clear", async () => {
  const proxy = await tunnelProxy("tunnel");
  const { world } = await serviceWorld({}, { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
  expect(await world.afterGenerate()).toEqual(SAVED);
  expect(proxy.heads).toEqual([]);
});

it("laptop sleep: a task that ended meanwhile is saved on waking, over new connections", async () => {
  const { server, world } = await serviceWorld({ poll: inTurn(stillRunning, completedAt("/1.png")) });
  const { program, end } = await startedWhen(world, () => server.requests.length >= 2);
  program.kill("SIGSTOP");
  await pause(600);
  server.dropConnections();
  await pause(100);
  program.kill("SIGCONT");
  expect(await world.aftermath(await end)).toEqual(SAVED);
});
