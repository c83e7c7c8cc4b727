import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { jsonLines } from "../../support/batch-world.ts";
import { type CommandWorld, commandWorld, submitted } from "../../support/command-world.ts";
import { PICTURE, png } from "../../support/images.ts";
import type { RunOptions } from "../../support/in-process.ts";
import { response } from "../../support/scripted-server.ts";
import { PRINTS_URL, type Uploader, uploader } from "../../support/uploader.ts";
import { words } from "../../support/words.ts";

const FOX = ["generate", "a fox", "-m", "gamma-image-2", "-q", "1K"];

/** A world with `fox.png`, and a command that uploads it. */
async function uploadWorld(body?: string): Promise<{ world: CommandWorld; up: Uploader }> {
  const world = await commandWorld();
  const folder = path.join(world.cwd, "..", "up");
  await mkdir(folder);
  const up = await uploader(folder, body);
  await writeFile(path.join(world.cwd, "fox.png"), PICTURE);
  const { code, stderr } = await world.run(["config", "set", "uploadCommand", up.command]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return { world, up };
}

/** A time so long ago, as S3 writes it. */
const signedAt = (agoMs: number) => new Date(Date.now() - agoMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");

const PRINTS_SIGNED_URL = PRINTS_URL.replace('.png"', '.png?signature=s3cret"');
const images = (world: CommandWorld) => submitted(world).map((body) => Object(body).image);
const URL_1 = "https://cdn.example/1.png";
const URL_2 = "https://cdn.example/2.png";

describe("--image with a file", () => {
  it("is uploaded, and its URL submitted, recorded and charged once", async () => {
    const { world, up } = await uploadWorld(PRINTS_SIGNED_URL);
    const { document, stderr } = await world.json([...FOX, "--image", "fox.png", "--sidecar"]);
    const url = `${URL_1}?signature=s3cret`;
    expect(document).toMatchObject({ ok: true, credits: 2, request: { image: url } });
    expect(stderr).toContain("Uploading fox.png…");
    expect(images(world)).toEqual([url]);
    const [run = ""] = await up.runs();
    expect(run.startsWith(`${path.join(world.cwd, "fox.png")} `)).toBe(true);
    const [name = ""] = (await readdir(world.cwd)).filter((each) => each.endsWith(".json"));
    const sidecar = await readFile(path.join(world.cwd, name), "utf8");
    expect(JSON.parse(sidecar).request.image).toBe("https://cdn.example/1.png?…");
  });

  it("is uploaded once, under any name and in any request; another file and another command are new", async () => {
    const { world, up } = await uploadWorld();
    await writeFile(path.join(world.cwd, "copy.png"), PICTURE);
    await writeFile(path.join(world.cwd, "other.png"), png());
    const env = { IMGGEN_UPLOAD_COMMAND: `${up.command} again` };
    await world.run([...FOX, "--image", "fox.png"]);
    await world.run([...FOX, ...words("--image copy.png --image fox.png --image https://a.example/b.png")]);
    await world.run([...FOX, "--image", "other.png"]);
    await world.run([...FOX, "--image", "fox.png"], { env });
    const several = [URL_1, URL_1, "https://a.example/b.png"];
    expect(images(world)).toEqual([URL_1, several, URL_2, URL_1.replace("1", "3")]);
  });

  it("is uploaded once for one request that names it twice, also with --no-upload-cache", async () => {
    const { world, up } = await uploadWorld();
    await writeFile(path.join(world.cwd, "copy.png"), PICTURE);
    await world.run([...FOX, "--image", "fox.png", "--image", "copy.png", "--no-upload-cache"]);
    expect(images(world)).toEqual([[URL_1, URL_1]]);
    expect(await up.runs()).toHaveLength(1);
  });

  it("is uploaded again with --no-upload-cache, and that URL is then the one that is remembered", async () => {
    const { world, up } = await uploadWorld();
    for (const flags of [[], ["--no-upload-cache"], []])
      await world.run([...FOX, "--image", "fox.png", ...flags]);
    expect(images(world)).toEqual([URL_1, URL_2, URL_2]);
    expect(await up.runs()).toHaveLength(2);
  });

  it("is the same request for --reuse, which then uploads and charges nothing, even where its URL has a query", async () => {
    const { world, up } = await uploadWorld(PRINTS_SIGNED_URL);
    for (let time = 1; time <= 2; time += 1) await world.run([...FOX, "--image", "fox.png"]);
    expect(await up.runs()).toHaveLength(2);
    expect(new Set(images(world)).size).toBe(2);
    await world.run([...FOX, "--image", "fox.png", "--reuse"]);
    expect(await up.runs()).toHaveLength(2);
    expect(world.server.submits()).toHaveLength(2);
  });

  it("is told as an event by --progress json", async () => {
    const { world } = await uploadWorld();
    const { stderr } = await world.run([...FOX, "--image", "fox.png", "--progress", "json"]);
    expect(jsonLines(stderr)).toContainEqual({ type: "uploading", file: "fox.png", bytes: PICTURE.length });
  });

  it("is only announced by --dry-run: nothing is uploaded, and the URL shown once there is one", async () => {
    const { world, up } = await uploadWorld();
    const dry = [...FOX, "--image", "fox.png", "--dry-run"];
    expect((await world.run(dry)).stdout).toContain("\nfox.png would be uploaded first, and its URL sent\n");
    const { document } = await world.json(dry);
    expect(document).toMatchObject({
      request: { image: "fox.png" },
      uploads: [{ file: path.join(world.cwd, "fox.png"), bytes: PICTURE.length }],
    });
    expect(await up.runs()).toEqual([]);
    await world.run([...FOX, "--image", "fox.png"]);
    const { document: known } = await world.json(dry);
    expect(known).toMatchObject({ request: { image: URL_1 } });
    expect(known).not.toHaveProperty("uploads");
  });

  it.each<[string, { flags?: string[]; settings?: Record<string, string>; env?: RunOptions["env"] }]>([
    ["the model takes none", { flags: ["-m", "z-image"] }],
    ["the ratio is not one of the model's", { flags: ["-r", "27:16"] }],
    ["there are too many", { flags: Array(16).fill(["-i", "https://a.example/b.png"]).flat() }],
    ["it costs more than --max-credits", { flags: ["--max-credits", "1"] }],
    ["a day's limit would be passed", { settings: { dailyCredits: "1" } }],
    ["the output folder cannot be used", { flags: ["-o", "fox.png/x/"] }],
    ["no key is stored", { env: { IMGGEN_API_KEY: undefined } }],
    ["another one of its images is unusable", { flags: ["-i", "missing.png"] }],
    [
      "the URL of another one is unusable",
      {
        flags: ["-i", "https://a.example/b.png", "--check-images"],
        env: { https_proxy: "http://127.0.0.1:1" },
      },
    ],
  ])("is not uploaded where %s", async (_why, { flags = [], settings = {}, env = {} }) => {
    const { world, up } = await uploadWorld();
    for (const [name, value] of Object.entries(settings)) await world.run(["config", "set", name, value]);
    const { code } = await world.run([...FOX, "-i", "fox.png", ...flags], { env });
    expect([2, 3, 8]).toContain(code);
    expect(await up.runs()).toEqual([]);
    expect(world.server.requests).toEqual([]);
  });

  it("is uploaded under --no-validate too, and sent as it is where no upload command is set", async () => {
    const { world } = await uploadWorld();
    await world.run([...FOX, "--image", "fox.png", "--no-validate"]);
    await world.run(["config", "unset", "uploadCommand"]);
    const { stderr } = await world.run([...FOX, "--image", "fox.png", "--no-validate"]);
    expect(images(world)).toEqual([URL_1, "fox.png"]);
    expect(stderr).toContain("sent anyway: --image fox.png is a file on this machine");
  });

  it("is refused by commands that take URLs alone, and by all without an upload command", async () => {
    const { world, up } = await uploadWorld();
    const row = '{"prompt":"a","model":"gamma-image-2","image":"fox.png"}\n';
    await writeFile(path.join(world.cwd, "rows.jsonl"), row);
    const notUrl = { message: expect.stringContaining("is not an http(s) URL") };
    for (const line of ["batch rows.jsonl", "compare fox -m gamma-image-2 -i fox.png"])
      expect(await world.json(words(line))).toMatchObject({ code: 2, document: { error: notUrl } });
    await world.run(["config", "unset", "uploadCommand"]);
    const error = {
      type: "invalid_request",
      message: "--image fox.png is a file on this machine, and the service takes https:// URLs.",
      hint: expect.stringContaining("imggen config set uploadCommand '<command with {file}>'"),
    };
    expect(await world.json([...FOX, "--image", "fox.png"])).toMatchObject({ code: 2, document: { error } });
    expect(await up.runs()).toEqual([]);
    expect(world.server.requests).toEqual([]);
  });
});

describe("uploadCommand", () => {
  it("is refused in the environment too, before anything is sent", async () => {
    const { world } = await uploadWorld();
    const env = { IMGGEN_UPLOAD_COMMAND: "upload" };
    const { code, stderr } = await world.run([...FOX, "--image", "fox.png"], { env });
    expect(code).toBe(2);
    expect(stderr).toContain("IMGGEN_UPLOAD_COMMAND has no {file}");
    expect(world.server.requests).toEqual([]);
  });
});

describe("--check-images", () => {
  /** A world whose server answers HEAD so. */
  async function answering(status: number, headers: Record<string, string>) {
    const world = await commandWorld({
      file: ({ method }, socket) =>
        void socket.write(method === "HEAD" ? response(status, "", headers) : response(200, PICTURE)),
    });
    const check = (...flags: string[]) =>
      world.json([...FOX, "--image", `${world.server.origin}/in.png?sig=s3cret`, "--check-images", ...flags]);
    return { world, check };
  }
  const asked = (world: CommandWorld) => world.server.requests.filter(({ method }) => method === "HEAD");

  it("asks with HEAD before the submit, for rerun too", async () => {
    const { world, check } = await answering(200, { "content-type": "image/png" });
    const { document } = await check();
    expect(document.ok).toBe(true);
    expect(world.server.requests[0]).toMatchObject({ method: "HEAD", target: "/in.png?sig=s3cret" });
    await world.run(["rerun", String(document.taskId), "--check-images"]);
    expect(asked(world)).toHaveLength(2);
  });

  it("refuses what is no image, without the URL's signature: nothing is submitted", async () => {
    const { world, check } = await answering(200, { "content-type": "text/html" });
    const message = `--image ${world.server.origin}/in.png?… is not an image that the service can use: its type is text/html, not JPEG, PNG or WebP.`;
    expect(await check()).toMatchObject({
      code: 2,
      document: { error: { type: "invalid_request", message }, charged: "no" },
    });
    expect(world.server.submits()).toEqual([]);
  });

  it("names a server that refuses HEAD in a warning, and goes on", async () => {
    const { world, check } = await answering(405, {});
    const warning = `--image ${world.server.origin}/in.png?… was not checked: its server refuses HEAD (HTTP 405).`;
    expect((await check()).document).toMatchObject({ ok: true, warnings: [warning] });
  });

  it("refuses a URL whose signature has expired, without a request", async () => {
    const { world } = await answering(403, {});
    const url = `${world.server.origin}/in.png?X-Amz-Date=${signedAt(3_700_000)}&X-Amz-Expires=3600`;
    const { code, stderr } = await world.run([...FOX, "--image", url, "--check-images"]);
    expect(code).toBe(2);
    expect(stderr).toContain("in.png?… is not an image that the service can use: its signature has expired.");
    expect(world.server.requests).toEqual([]);
  });

  it("opens no connection for --dry-run, and says so", async () => {
    const { world, check } = await answering(200, {});
    const { code, stderr } = await check("--dry-run");
    expect(code).toBe(0);
    expect(stderr).toContain("--check-images was skipped, because --dry-run opens no connection.");
    expect(world.server.requests).toEqual([]);
  });
});
