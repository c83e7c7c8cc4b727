import { hostname } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { buildPng, pngChunk, pngHeader, pngSignature } from "../lib/image/builders.ts";
import { jpegBaseline, webpLossy } from "../lib/image/samples.ts";
import { selfSigned, trusting } from "../support/certificate.ts";
import { heavyPicture, PICTURE } from "../support/images.ts";
import { liveServer, liveService } from "../support/live-server.ts";
import { NOT_SAVED, programWorld, SAVED, serviceWorld } from "../support/program-world.ts";
import { type Behaviour, response } from "../support/scripted-server.ts";
import { completedAt, cutShort, drips, inTurn, replies, taskIs } from "../support/scripts.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";

const WHOLE = response(200, PICTURE);
const GONE = response(404, "");
const HTML = response(200, "<!doctype html><html><body>Sign in</body></html>", {
  "content-type": "image/png",
});
const SVG = response(200, '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', {
  "content-type": "image/svg+xml",
});

const WITHOUT_PIXELS = Buffer.concat([pngSignature, pngHeader(64, 48), pngChunk("IDAT"), pngChunk("IEND")]);

/** An image of the same length whose pixels are not what they were. */
function withOneBitChanged(image: Buffer): Buffer {
  const changed = Buffer.from(image);
  const at = image.length - pngChunk("IEND").length - 6;
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}

/** Far larger than what a message has room for. */
const INLINE = `data:image/png;base64,${heavyPicture(16).toString("base64")}`;

it.each([
  ["file:///etc/passwd"],
  ["data:image/png;base64,iVBORw0KGgo="],
  ["data: and a whole image", INLINE],
  ["javascript:alert(1)"],
  ["not a URL"],
])(
  "a result URL of %j is not downloaded: save_failed, and resume asks the service again",
  async (name, url = name) => {
    const hostile = taskIs({ status: "completed", resultUrl: url, errorCode: 0 });
    const { world } = await serviceWorld({ poll: inTurn(hostile, completedAt("/1.png")) });
    const run = await world.generate();
    expect(await world.aftermath(run)).toEqual(NOT_SAVED);
    const { resume, error } = JSON.parse(run.stdout);
    expect(resume).toBe("imggen resume task-1");
    expect(error.message.length).toBeLessThan(400);
    if (!url.startsWith("file:")) return;
    expect(await world.afterResume(["task-1"])).toEqual(SAVED);
  },
);

it("a result URL with a user name in it is not downloaded, and its password is not shown", async () => {
  const elsewhere = await liveServer(WHOLE);
  const url = `http://user:passw0rd@127.0.0.1:${elsewhere.port}/1.png`;
  const { world } = await serviceWorld({ poll: completedAt(url) });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(NOT_SAVED);
  expect(elsewhere.requests).toEqual([]);
  expect(run.stdout + run.stderr).not.toContain("passw0rd");
});

it("an http: URL from an https: service is not downloaded", async () => {
  const certificate = selfSigned("localhost");
  const plain = await liveServer(WHOLE);
  const server = await liveService(PICTURE, { poll: completedAt(`${plain.origin}/1.png`) }, certificate);
  const world = await programWorld(server);
  expect(await world.afterGenerate([], { env: trusting(certificate, world.folder) })).toEqual(NOT_SAVED);
  expect(plain.requests).toEqual([]);
});

it.each([
  ["loopback", "127.0.0.1"],
  ["a private network", "10.0.0.1"],
  ["link-local, where clouds keep their secrets", "169.254.169.254"],
  ["a private network, wrapped in NAT64", "[64:ff9b::a00:1]"],
  ["an address that no registry gives out", "[100:0:0:1::1]"],
])("a public service may not send a download to %s", async (_name, host) => {
  const service = await publicService(completedAt(`https://${host}:9/1.png`));
  expect(await service.world.aftermath(await service.generate())).toEqual(NOT_SAVED);
  expect(service.proxied()).toEqual(new Set(["service.example"]));
});

it("a public service may not send a download to a private host by a redirect either", async () => {
  const away = response(302, "", { location: "https://169.254.169.254/latest/meta-data" });
  const service = await publicService(undefined, replies(away));
  expect(await service.world.aftermath(await service.generate())).toEqual(NOT_SAVED);
  expect(service.proxied()).toEqual(new Set(["service.example"]));
});

it("a name that leads to this machine is found out when it is connected to", async () => {
  const local = await liveServer(WHOLE);
  const service = await publicService(completedAt(`https://${hostname()}:${local.port}/1.png`));
  const run = await service.generate({ NO_PROXY: hostname() });
  expect(await service.world.aftermath(run)).toEqual(NOT_SAVED);
  expect(local.requests).toEqual([]);
});

it("a public service's own images are saved", async () => {
  const service = await publicService();
  expect(await service.world.aftermath(await service.generate())).toEqual(SAVED);
});

it("five redirects are followed, to other hosts too, and never with the key", async () => {
  const storage = await liveServer((request, socket) => {
    const hop = Number(request.target.slice(1));
    socket.write(hop < 4 ? response(302, "", { location: `/${hop + 1}` }) : WHOLE);
  });
  const { world } = await serviceWorld({
    poll: completedAt("/start.png"),
    file: replies(response(307, "", { location: `${storage.origin}/0` })),
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
  expect(storage.requests).toHaveLength(5);
  for (const { headers } of storage.requests) expect(headers).not.toHaveProperty("authorization");
});

it("six redirects are too many", async () => {
  const { server, world } = await serviceWorld({
    poll: completedAt("/0"),
    file: (request, socket) => {
      socket.write(response(302, "", { location: `/${Number(request.target.slice(1)) + 1}` }));
    },
  });
  expect(await world.afterGenerate()).toEqual(NOT_SAVED);
  const targets = server.requests.map(({ target }) => target);
  expect(targets).toContain("/5");
  expect(targets).not.toContain("/6");
});

it.each([
  ["cut short, with a Content-Length", cutShort(WHOLE, WHOLE.length - 20)],
  ["cut short, without a Content-Length", unmeasured(PICTURE.subarray(0, PICTURE.length - 20))],
  ["with a wrong checksum", replies(response(200, withOneBitChanged(PICTURE)))],
  ["with no image data", replies(response(200, WITHOUT_PIXELS))],
])("an image %s is downloaded again", async (_name, trouble) => {
  const { world } = await serviceWorld({ file: inTurn(trouble, trouble, replies(WHOLE)) });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("HTML in place of an image, to the end: six attempts, and no file", async () => {
  const { server, world } = await serviceWorld({ file: replies(HTML) });
  expect(await world.afterGenerate()).toEqual(NOT_SAVED);
  expect(downloads(server.requests)).toBe(6);
});

it("SVG in place of an image is downloaded again, and saved as what it is if it comes twice", async () => {
  const once = await serviceWorld({ file: inTurn(replies(SVG), replies(WHOLE)) });
  expect(await once.world.afterGenerate()).toEqual(SAVED);
  const { server, world } = await serviceWorld({ file: replies(SVG) });
  const run = await world.generate();
  const { files, ...rest } = await world.aftermath(run);
  expect(rest).toMatchObject({ exit: 0, charged: "yes", open: [], done: ["saved"] });
  expect(files).toEqual([expect.stringMatching(/^a-fox-.+\.svg/)]);
  expect(JSON.parse(run.stdout).warnings).toEqual([expect.stringMatching(/\.svg is not an image.+svg\+xml/)]);
  expect(downloads(server.requests)).toBe(2);
});

it("a download of a byte now and then is given up after a minute, and begun again", async () => {
  const { server, world } = await serviceWorld({ file: inTurn(drips(WHOLE, 1, 20), replies(WHOLE)) });
  // For the program, a hundred times as much time goes by.
  const fast = "const now = performance.now.bind(performance); performance.now = () => now() * 100;";
  const quick = "Math.random = () => 0;";
  const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(fast + quick)}` };
  const run = await world.generate([], { env });
  expect(await world.aftermath(run)).toEqual(SAVED);
  expect(downloads(server.requests)).toBe(2);
  expect(run.stderr).toContain("less than 1 KiB/s");
}, 30_000);

it("a wrong MIME type does not matter: the bytes say what the image is", async () => {
  const { world } = await serviceWorld({
    poll: completedAt("/1.exe", "/2.png", "/3"),
    file: inTurn(
      replies(response(200, PICTURE, { "content-type": "text/html" })),
      replies(response(200, jpegBaseline, { "content-type": "image/png" })),
      replies(response(200, webpLossy)),
    ),
  });
  const { files, ...rest } = await world.afterGenerate();
  expect(rest).toMatchObject({ exit: 0, done: ["saved"] });
  expect(files.map((file) => path.extname(file)).sort()).toEqual([".jpg", ".png", ".webp"]);
});

it("the 100 MiB cap: a larger file is given up, whatever its Content-Length says, and leaves nothing", async () => {
  const { server, world } = await serviceWorld({
    file: (_request, socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.write(PICTURE);
      const flood = Buffer.alloc(1024 * 1024);
      const pour = () => {
        while (socket.writable && socket.write(flood));
      };
      socket.on("drain", pour);
      pour();
    },
  });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(NOT_SAVED);
  expect(JSON.parse(run.stdout).error.message).toContain("100 MiB");
  expect(downloads(server.requests)).toBe(1);
});

it('a Content-Disposition of "attachment; filename=../../evil.sh" is ignored', async () => {
  const disposition = "attachment; filename=../../evil.sh; filename*=UTF-8''%2e%2e%2fevil.sh";
  const { world } = await serviceWorld({
    file: replies(response(200, PICTURE, { "content-disposition": disposition })),
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("HTTP 410: a fresh URL is asked for, once, and saved from", async () => {
  const { world } = await serviceWorld({
    poll: inTurn(completedAt("/old.png"), completedAt("/new.png")),
    file: (request, socket) => {
      socket.write(request.target === "/new.png" ? WHOLE : response(410, ""));
    },
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("one result URL of four that is gone keeps none of the others from being saved", async () => {
  let isGone = true;
  const pictures = ["/1.png", "/2.png", "/3.png", "/4.png"].map(
    (url, at) => [url, buildPng(64 + at, 48)] as const,
  );
  const { server, world } = await serviceWorld({
    poll: completedAt(...pictures.map(([url]) => url)),
    file(request, socket) {
      const picture = new Map<string, Buffer>(pictures).get(request.target) ?? "";
      socket.write(isGone && request.target === "/2.png" ? GONE : response(200, picture));
    },
  });
  const run = await world.generate();
  const { files, ...rest } = await world.aftermath(run);
  expect(rest).toMatchObject({ exit: 8, type: "save_failed", charged: "yes", open: ["partly_saved"] });
  expect(files).toEqual(["a-fox-task1-3.png", "a-fox-task1-4.png", "a-fox-task1.png"]);
  const { resume, files: told, error } = JSON.parse(run.stdout);
  expect(resume).toBe("imggen resume task-1");
  expect(told.map((file: { path: string }) => path.basename(file.path)).sort()).toEqual(files);
  expect(error.message).toContain("1 of 4 images");
  isGone = false;
  const before = server.requests.length;
  const resumed = await world.afterResume(["task-1"]);
  expect(resumed).toMatchObject({ exit: 0, submits: 1, open: [], done: ["saved"] });
  expect(resumed.files).toHaveLength(4);
  expect(downloads(server.requests.slice(before))).toBe(1);
});

it("a task of 20 result URLs: 16 are saved, the others named, and it is finished", async () => {
  const urls = Array.from({ length: 20 }, (_, at) => `/${at + 1}.png`);
  const { world } = await serviceWorld({ poll: completedAt(...urls) });
  const run = await world.generate();
  const { files, ...rest } = await world.aftermath(run);
  expect(rest).toMatchObject({ exit: 0, charged: "yes", done: ["saved"] });
  expect(files).toHaveLength(16);
  expect(JSON.parse(run.stdout).warnings.join()).toContain("/17.png");
  const [lines = []] = await world.records("done");
  expect(lines.find(({ type }) => type === "completed")?.urls).toHaveLength(20);
});

/** A reply that ends where the connection does. */
function unmeasured(bytes: Buffer): Behaviour {
  return (_request, socket) => {
    socket.write("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
    socket.end(bytes);
  };
}

function downloads(requests: readonly { target: string }[]): number {
  return requests.filter(({ target }) => !target.startsWith("/api")).length;
}

/** A service under a public name, as far as imggen can tell: a proxy leads that name to this machine. */
async function publicService(poll?: Behaviour, file?: Behaviour) {
  const certificate = selfSigned("service.example");
  const script = { ...(poll && { poll }), ...(file && { file }) };
  const server = await liveService(PICTURE, script, certificate);
  const proxy = await tunnelProxy("tunnel");
  const baseUrl = `https://service.example:${server.port}/api`;
  const world = await programWorld(server, { IMGGEN_BASE_URL: baseUrl, HTTPS_PROXY: proxy.url });
  const env = trusting(certificate, world.folder);
  return {
    world,
    generate: (more: Record<string, string> = {}) => world.generate([], { env: { ...env, ...more } }),
    proxied: () => new Set(proxy.heads.map((head) => /^CONNECT ([^:]+)/.exec(head)?.[1])),
  };
}

it("an image that comes compressed with gzip, although that was not asked for: saved as it was", async () => {
  const headers = { "content-encoding": "gzip", "content-type": "image/png" };
  const compressed = response(200, gzipSync(PICTURE), headers);
  const { world } = await serviceWorld({ file: replies(compressed) });
  expect(await world.afterGenerate()).toEqual(SAVED);
});
