import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { asAnotherUser, CAN_BE_ANOTHER_USER } from "../support/another-user.ts";
import { selfSigned, trusting } from "../support/certificate.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import type { ProgramOptions } from "../support/program.ts";
import { type ProgramWorld, programWorld, serviceWorld } from "../support/program-world.ts";
import { failure } from "../support/scripted-server.ts";
import { replies, silence } from "../support/scripts.ts";
import { tinyDisk } from "../support/tiny-disk.ts";
import { hasTool } from "../support/tools.ts";
import { type ProxyBehaviour, tunnelProxy } from "../support/tunnel-proxy.ts";
import { words } from "../support/words.ts";

const UNKNOWN_TASK = failure("image_generation.error.unknown_error");
const LONGEST_MS = 20_000;

interface Checked {
  status: string;
  message: string;
  hint: string | null;
}

/** Runs `imggen doctor --json`. Fails where it submits, writes, or takes too long. */
async function examined(world: ProgramWorld, options: ProgramOptions = {}, flags: string[] = []) {
  const run = await world.run(["doctor", "--json", ...flags], options);
  const after = await world.aftermath(run);
  expect(after).toMatchObject({ files: [], submits: 0, open: [], done: [] });
  expect(run.elapsedMs).toBeLessThan(LONGEST_MS);
  const document = JSON.parse(run.stdout);
  const check = (name: string): Checked =>
    document.checks.find((each: { name: string }) => each.name === name);
  return { code: run.code, document, check };
}

const healthyService = () => liveService(PICTURE, { poll: replies(UNKNOWN_TASK) });

it("doctor with a service that never answers ends after 5 s, and says so", async () => {
  const { world } = await serviceWorld({ poll: silence });
  const { code, check } = await examined(world);
  expect([code, check("service").status]).toEqual([2, "failed"]);
  expect(check("service").message).toMatch(/could not be reached: no answer within 5 s\.$/);
  expect(check("key").status).toBe("skipped");
});

it("doctor with a name server that never answers ends after 5 s, and says so", async (test) => {
  const world = await programWorld(null, { IMGGEN_BASE_URL: "https://service.example/api" });
  const file = path.join(world.folder, "resolv.conf");
  await writeFile(file, "nameserver 127.0.0.1\n");
  const nameServer = createSocket("udp4");
  onTestFinished(() => void nameServer.close());
  const isListening = await new Promise((resolve) => {
    nameServer.on("error", () => resolve(false)).bind(53, "127.0.0.1", () => resolve(true));
  });
  const through = [
    ...words("unshare --mount sh -c"),
    `mount --bind ${file} /etc/resolv.conf && exec "$@"`,
    "sh",
  ];
  if (!isListening || spawnSync(through[0] ?? "", [...through.slice(1), "true"]).status !== 0)
    return test.skip("needs port 53 and a mount namespace");
  const { code, check } = await examined(world, { through });
  // On a busy machine the check's own time may be up first.
  expect([code, check("service").message]).toEqual([2, expect.stringMatching(/looked up|timed out/)]);
});

it("doctor without a network names that, and the embedded sandbox needs none", async (test) => {
  // A network of its own, with nothing in it but itself.
  const alone = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"];
  if (!hasTool("ip") || spawnSync(alone[0] ?? "", [...alone.slice(1), "true"]).status !== 0)
    return test.skip("needs a network namespace");
  const world = await programWorld(null, { IMGGEN_BASE_URL: "https://192.0.2.1/api" });
  const { code, check } = await examined(world, { through: alone });
  expect([code, check("service").message]).toEqual([2, expect.stringContaining("unreachable")]);
  expect((await examined(world, { through: alone }, ["--sandbox"])).code).toBe(0);
});

it("doctor with an untrusted certificate names NODE_EXTRA_CA_CERTS, and sends no key", async () => {
  const certificate = selfSigned("localhost");
  const server = await liveService(PICTURE, { poll: replies(UNKNOWN_TASK) }, certificate);
  const world = await programWorld(server);
  const { code, check } = await examined(world);
  expect(code).toBe(2);
  expect(check("service").message).toMatch(/its certificate is self-signed \(DEPTH_ZERO_SELF_SIGNED_CERT\)/);
  expect(check("service").hint).toContain("NODE_EXTRA_CA_CERTS");
  expect(server.requests).toEqual([]);
  const env = trusting(certificate, world.folder);
  const trusted = await examined(world, { env });
  expect([trusted.code, trusted.check("tls").message]).toEqual([
    0,
    expect.stringContaining(env.NODE_EXTRA_CA_CERTS),
  ]);
});

it.each<[ProxyBehaviour, number]>([
  ["tunnel", 0],
  ["refuse", 2],
  ["hang up", 2],
  ["keep silent", 2],
])(
  "doctor behind a proxy that does %s ends with %d, and the proxy never sees the key",
  async (does, exit) => {
    const proxy = await tunnelProxy(does);
    const certificate = selfSigned("service.example");
    const server = await liveService(PICTURE, { poll: replies(UNKNOWN_TASK) }, certificate);
    const IMGGEN_BASE_URL = `https://service.example:${server.port}/api`;
    const world = await programWorld(server, { IMGGEN_BASE_URL, HTTPS_PROXY: proxy.url });
    const { code, check } = await examined(world, { env: trusting(certificate, world.folder) });
    expect([code, check("proxy").message]).toEqual([exit, `${proxy.url}/ (HTTPS_PROXY)`]);
    expect(check("service")).toMatchObject(
      exit === 0
        ? { status: "ok" }
        : {
            status: "failed",
            message: expect.stringContaining(`The proxy ${proxy.url}/ (HTTPS_PROXY) does not work: `),
          },
    );
    expect(proxy.heads).not.toEqual([]);
    expect(proxy.heads.join()).not.toMatch(/authorization/i);
  },
);

it("doctor in a working folder that was deleted says so, and checks the rest", async () => {
  const world = await programWorld(await healthyService());
  const inDeletedFolder = ["sh", "-c", 'mkdir gone && cd gone && rmdir "$PWD" && exec "$@"', "sh"];
  const { code, check } = await examined(world, { through: inDeletedFolder });
  expect([code, check("folder").status]).toEqual([0, "warning"]);
  expect(check("folder")).toMatchObject({
    message: expect.stringContaining("The working folder cannot be used"),
    hint: expect.stringContaining("--output"),
  });
});

it("doctor on a disk with little space left says how much, and that nothing can be submitted without any", async (test) => {
  const [little, none] = [tinyDisk(8 * 1024), tinyDisk(256)];
  if (little === null || none === null) return test.skip("needs permission to mount");
  const world = await programWorld(await healthyService());
  const warned = await examined(world, { env: { IMGGEN_HOME: little } });
  expect([warned.code, warned.check("state").status]).toEqual([0, "warning"]);
  const stopped = await examined(world, { env: { IMGGEN_HOME: none } });
  expect([stopped.code, stopped.check("state").status]).toEqual([2, "failed"]);
  expect(stopped.check("state").message).toMatch(/has only \d+ KiB left\.$/);
});

describe.skipIf(!CAN_BE_ANOTHER_USER)("doctor as another user", () => {
  it("without HOME and without a home folder names IMGGEN_HOME, and still checks the service", async () => {
    const world = await programWorld(await healthyService());
    const options = asAnotherUser({ HOME: undefined, IMGGEN_HOME: undefined });
    const { code, check } = await examined(world, options);
    expect([code, check("config").status]).toEqual([2, "failed"]);
    expect(check("config").hint).toContain("IMGGEN_HOME");
    expect([check("state").status, check("tasks").status]).toEqual(["skipped", "skipped"]);
    expect([check("service").status, check("key").status]).toEqual(["ok", "ok"]);
  });

  it("in a home that is another user's says what cannot be written", async () => {
    const world = await programWorld(await healthyService());
    // Readable and executable for all, so that what fails is writing.
    for (const folder of [world.folder, world.home]) spawnSync("chmod", ["755", folder]);
    const { code, check } = await examined(world, asAnotherUser());
    expect([code, check("state").status, check("config").status]).toEqual([2, "failed", "warning"]);
    expect(check("state").message).toContain("permission denied (EACCES)");
  });
});
