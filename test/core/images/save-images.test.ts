import { writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { TaskDeps } from "../../../src/core/engine/deps.ts";
import type { ImageSource } from "../../../src/core/images/image-source.ts";
import { temporaryName } from "../../../src/core/images/prepare-destination.ts";
import { saveImages } from "../../../src/core/images/save-images.ts";
import type { SaveResult, SaveSpec } from "../../../src/core/images/save-spec.ts";
import { newLease } from "../../../src/lib/lease.ts";
import { systemProcesses } from "../../../src/lib/processes.ts";
import { keyMasker } from "../../../src/lib/redact.ts";
import { decodeImage } from "../../../src/providers/found-images.ts";
import type { MadeImage } from "../../../src/providers/provider.ts";
import type { Destination } from "../../../src/task/intent.ts";
import { inspect } from "../../lib/image/builders.ts";
import { webpAnimated } from "../../lib/image/samples.ts";
import { photograph, TITLE, withPngText } from "../../support/image-metadata.ts";
import { png, sha256 } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { response } from "../../support/scripted-server.ts";
import { taskWorld } from "../../support/task-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const EARLIER = new Date(2026, 0, 30, 23, 59);

interface Saving extends Partial<Omit<SaveSpec, "destination" | "sources">> {
  images?: Buffer[];
  /** Where they are, if not at the test's own server. */
  urls?: string[];
  destination?: Partial<Destination>;
  /** What lies in the output folder beforehand. */
  existing?: Record<string, string | Buffer>;
  /** Where a test looks for what was saved when the rest failed. */
  result?: SaveResult;
  deps?: Partial<TaskDeps>;
}

const SPEC = {
  taskId: "task-1",
  request: { prompt: "a fox", model: "gamma-image-2" },
  copies: [],
  facts: null,
  date: new Date(2026, 0, 31),
  keepsSinceMs: new Date(2026, 0, 31).getTime(),
  recovering: false,
  claimedTaskId: "20260131T120000000-0123abcd",
};

const newResult = (): SaveResult => ({
  files: [],
  imageCounts: [],
  warnings: [],
  bad: [],
  gone: [],
  rest: [],
});

/** The images of a request at URLs, or of one whose reply holds some of them in `data:` URLs. */
function sourceAt(urls: readonly string[], folder: string): ImageSource {
  if (!urls.some((url) => url.startsWith("data:")))
    return {
      kind: "urls",
      images: urls.map((url) => ({ kind: "url", url, freshUrl: async () => null, seed: null })),
    };
  const images = urls.map((url, at): MadeImage => {
    const bytes = decodeImage(url);
    if (bytes === null) return { kind: "url", url };
    const file = path.join(folder, `image-${at}`);
    writeFileSync(file, bytes);
    return { kind: "file", file };
  });
  return { kind: "reply", read: async () => images.map((image) => ({ image, seed: null })) };
}

/** Saves a task's images, `/0`, `/1`, …, into a folder of its own. */
async function saving({
  images = [png()],
  destination = {},
  existing = {},
  deps = {},
  ...rest
}: Saving = {}) {
  const { result = newResult(), savedFiles: before = [], urls, ...spec } = rest;
  const server = await liveServer(({ target }, socket) => {
    const image = images[Number(target.slice(1))];
    socket.write(image?.length ? response(200, image) : response(404, ""));
  });
  const world = await taskWorld(server.baseUrl);
  const folder = await temporaryFolder();
  for (const [name, content] of Object.entries(existing)) {
    await writeFile(path.join(folder, name), content);
    // Older than anything in a world whose clock is a fake one.
    await utimes(path.join(folder, name), EARLIER, EARLIER);
  }
  const sources = [
    sourceAt(urls ?? images.map((_, at) => `${server.origin}/${at}`), await temporaryFolder()),
  ];
  const kept = before.map(
    (file) => file && { ...file, url: file.url?.replace("PORT", `${server.port}`) ?? null },
  );
  const to = { ...world.destination, folder, ...destination } as Destination;
  await saveImages({ ...SPEC, ...spec, sources, savedFiles: kept, destination: to }, result, {
    ...world.deps,
    ...deps,
  });
  const names = (await readdir(folder)).sort();
  const files = result.files.filter((file) => file !== null);
  const saved = files.map((file) => (file.path === null ? null : path.relative(folder, file.path)));
  return { ...result, files, folder, names, saved, ...world };
}

const file = (folder: string, name: string, overwrite = false): Destination => ({
  kind: "file",
  path: path.join(folder, name),
  overwrite,
});

describe("saved images", () => {
  it("have the name that the template makes, and are told with all that is known of them", async () => {
    const { files, folder, names, events, warnings } = await saving();
    expect(names).toEqual(["a-fox.png"]);
    expect(files).toEqual([
      {
        path: path.join(folder, "a-fox.png"),
        url: expect.stringMatching(/^http.*\/0$/),
        mediaType: "image/png",
        bytes: png().length,
        sha256: sha256(png()),
        width: 8,
        height: 6,
      },
    ]);
    expect(warnings).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(["downloading", "saved"]);
  });

  it("are numbered by the template where it does so itself", async () => {
    const template = "{index}-{slug}";
    const { saved } = await saving({ images: [png(0), png(1)], destination: { template } });
    expect(saved).toEqual(["1-a-fox.png", "2-a-fox.png"]);
  });

  it("never replace what exists: they get the next free number", async () => {
    const existing = { "a-fox.png": "old", "a-fox-2.png": "older" };
    const { saved, folder } = await saving({ existing });
    expect(saved).toEqual(["a-fox-3.png"]);
    expect(await readFile(path.join(folder, "a-fox.png"), "utf8")).toBe("old");
    expect(await readFile(path.join(folder, "a-fox-2.png"), "utf8")).toBe("older");
  });

  it("replace what exists where that is asked for, each its own", async () => {
    const existing = { "a-fox.png": "old", "a-fox-2.png": "old" };
    const { saved, folder } = await saving({
      images: [png(0), png(1)],
      existing,
      destination: { overwrite: true },
    });
    expect(saved).toEqual(["a-fox.png", "a-fox-2.png"]);
    expect((await readFile(path.join(folder, "a-fox-2.png"))).equals(png(1))).toBe(true);
  });

  it("go round a folder, and a link that leads nowhere, in their place", async () => {
    const folder = await temporaryFolder();
    await mkdir(path.join(folder, "a-fox.png"));
    await symlink(path.join(folder, "nowhere"), path.join(folder, "a-fox-2.png"));
    const { files } = await saving({ destination: { folder } });
    expect(files[0]?.path).toBe(path.join(folder, "a-fox-3.png"));
  });

  it("go to exactly the file that was named, in folders that are made for it", async () => {
    const folder = path.join(await temporaryFolder(), "new", "folder");
    const { files } = await saving({ images: [png(0), png(1)], destination: file(folder, "x.png") });
    expect(files.map(({ path: saved }) => saved)).toEqual([
      path.join(folder, "x.png"),
      path.join(folder, "x-2.png"),
    ]);
    expect((await readdir(folder)).sort()).toEqual(["x-2.png", "x.png"]);
  });

  it.each([
    ["x.gif", "x.gif", ["x.gif contains a PNG image."]],
    ["x", "x.png", []],
    ["x.PNG", "x.PNG", []],
    ["x.tar", "x.tar", ["x.tar contains a PNG image."]],
  ])("named %j are saved as %j, with the warnings %j", async (name, saved, warnings) => {
    const folder = await temporaryFolder();
    const result = await saving({ destination: file(folder, name) });
    expect(await readdir(folder)).toEqual([saved]);
    expect(result.warnings).toEqual(warnings);
  });

  it.each(["jpg", "jpeg", "webp"])(
    "named x.%s are converted, and known by both digests",
    async (extension) => {
      const folder = await temporaryFolder();
      const destination = file(folder, `x.${extension}`);
      const { files, warnings } = await saving({ images: [png(0)], destination });
      const bytes = await readFile(path.join(folder, `x.${extension}`));
      const type = extension === "jpg" ? "jpeg" : extension;
      expect(await inspect(bytes)).toMatchObject({ ok: true, image: { type, width: 8, height: 6 } });
      expect(files).toMatchObject([
        {
          mediaType: `image/${type}`,
          bytes: bytes.length,
          sha256: sha256(bytes),
          originalSha256: sha256(png(0)),
        },
      ]);
      expect(warnings).toEqual([`x.${extension} was converted from the PNG image that the service sent.`]);
      // As after a kill between the file's publishing and its record.
      await saving({ images: [png(0)], destination, recovering: true });
      expect(await readdir(folder)).toEqual([`x.${extension}`]);
    },
  );

  it("that are converted lose no metadata without a word", async () => {
    const image = withPngText(await photograph("png"), "parameters", "Steps: 20");
    const destination = file(await temporaryFolder(), "x.webp");
    const { files, warnings } = await saving({ images: [image], destination });
    expect(warnings).toEqual([
      "x.webp was converted from the PNG image that the service sent, without its PNG text.",
    ]);
    expect((await readFile(files[0]?.path ?? "")).includes(TITLE)).toBe(true);
  });

  it("that move keep their bytes and the name, with a warning", async () => {
    const folder = await temporaryFolder();
    const { files, warnings } = await saving({ images: [webpAnimated], destination: file(folder, "x.png") });
    expect((await readFile(path.join(folder, "x.png"))).equals(webpAnimated)).toBe(true);
    expect(files[0]).not.toHaveProperty("originalSha256");
    expect(warnings).toEqual([expect.stringMatching(/^x\.png contains a WEBP image, .*animated/)]);
  });

  it("leave no name to the service: neither its URL's nor a path in its task id", async () => {
    const { names } = await saving({ taskId: "..\\..\\x/../../y", destination: { template: "{task}" } });
    expect(names).toEqual(["xy.png"]);
  });

  it("leave no temporary file behind where one of them cannot be had", async () => {
    const folder = await temporaryFolder();
    const urls = ["http://127.0.0.1:1/"];
    await expect(saving({ urls, destination: { folder } })).rejects.toMatchObject({ type: "save_failed" });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("an image that cannot be downloaded", () => {
  const missing = Buffer.from("");

  it("does not keep the others from being saved, under the names that are theirs", async () => {
    const folder = await temporaryFolder();
    const result = newResult();
    const images = [png(0), missing, png(2), missing];
    await expect(saving({ images, destination: { folder }, result })).rejects.toMatchObject({
      type: "save_failed",
      charged: "yes",
      message: expect.stringMatching(/^2 of 4 images could not be downloaded: .*\/1\); .*\/3\)\.$/),
    });
    expect((await readdir(folder)).sort()).toEqual(["a-fox-3.png", "a-fox.png"]);
    expect(result.files.map((file) => file?.path ?? null)).toEqual([
      path.join(folder, "a-fox.png"),
      null,
      path.join(folder, "a-fox-3.png"),
    ]);
  });

  it("because its file in a reply is cut does not keep the others from being saved either", async () => {
    const result = newResult();
    const urls = [png(), png().subarray(0, 8)].map(
      (image) => `data:image/png;base64,${image.toString("base64")}`,
    );
    await saving({ urls, result });
    expect(result).toMatchObject({ files: [{ width: 8 }], rest: [{ request: 0, count: 1 }] });
  });

  it("is all that is downloaded by the next run, while the files of the others are whole", async () => {
    const folder = await temporaryFolder();
    const result = newResult();
    await saving({ images: [png(0), missing, png(2)], destination: { folder }, result }).catch(() => {});
    const next = { images: [missing, png(1), missing], destination: { folder }, recovering: true };
    // The service has moved, and all URLs but the second have expired.
    const moved = result.files.map(
      (file) => file && { ...file, url: file.url?.replace(/:\d+/, ":PORT") ?? null },
    );
    const { files } = await saving({ ...next, savedFiles: moved });
    expect(files.map((file) => path.basename(file.path ?? ""))).toEqual([
      "a-fox.png",
      "a-fox-2.png",
      "a-fox-3.png",
    ]);
    await writeFile(path.join(folder, "a-fox.png"), "changed");
    await expect(saving({ ...next, savedFiles: moved })).rejects.toMatchObject({ type: "save_failed" });
  });
});

it("at most 16 images of a task are downloaded, and a warning says what was left", async () => {
  const images = Array.from({ length: 22 }, (_, number) => png(number));
  const { saved, warnings } = await saving({ images });
  expect(saved).toHaveLength(16);
  expect(warnings).toEqual([
    expect.stringMatching(
      /^The service returned 22 images; .* Not downloaded: .*\/16, .*\/19, and 2 more\. /,
    ),
  ]);
});

describe("after a crash", () => {
  const theirs = "somebody else's";
  const twin = Buffer.from(png());
  twin[20] = (twin[20] ?? 0) ^ 1;

  it.each<[string, Record<string, string | Buffer>, Buffer[], string[]]>([
    ["a file that was published just before is recognised", { "a-fox.png": png() }, [png()], ["a-fox.png"]],
    [
      "it is recognised under the number that it was given",
      { "a-fox.png": theirs, "a-fox-2.png": png() },
      [png()],
      ["a-fox-2.png"],
    ],
    ["another file of the same length is not taken for it", { "a-fox.png": twin }, [png()], ["a-fox-2.png"]],
    [
      "several images find their own files again",
      { "a-fox.png": png(0), "a-fox-2.png": png(1) },
      [png(0), png(1)],
      ["a-fox.png", "a-fox-2.png"],
    ],
    [
      "two images that are equal are still two files",
      { "a-fox.png": png() },
      [png(), png()],
      ["a-fox.png", "a-fox-2.png"],
    ],
    [
      "so they are where the first had to give way to a file of the user's",
      { "a-fox.png": theirs },
      [png(), png()],
      ["a-fox-2.png", "a-fox-3.png"],
    ],
  ])("%s", async (_what, existing, images, files) => {
    const { saved, names } = await saving({ recovering: true, existing, images });
    expect(saved).toEqual(files);
    expect(names).toEqual([...new Set([...Object.keys(existing), ...files])].sort());
  });

  it.each([
    ["of its task are removed by the process that holds it", SPEC.claimedTaskId, SPEC.claimedTaskId, false],
    ["of another task are left alone", "20260131T120000000-4567abcd", SPEC.claimedTaskId, true],
    ["of its task are left alone by a process that does not hold it", SPEC.claimedTaskId, null, true],
  ])("drafts %s", async (_what, task, heldTask, isLeft) => {
    const draft = temporaryName(task);
    const { names } = await saving({
      recovering: true,
      claimedTaskId: heldTask,
      existing: { [draft]: "half" },
    });
    expect(names).toEqual([...(isLeft ? [draft] : []), "a-fox.png"]);
  });

  it("without one, an equal file of the user's own is not taken for the image", async () => {
    const { saved } = await saving({ existing: { "a-fox.png": png() } });
    expect(saved).toEqual(["a-fox-2.png"]);
  });
});

it("two that save one task at once, neither owning it, never write into each other's file", async () => {
  const image = png();
  const server = await liveServer(
    (_request, socket) => void setTimeout(() => socket.write(response(200, image)), 50),
  );
  const world = await taskWorld(server.baseUrl);
  const folder = await temporaryFolder();
  const save = async () => {
    const result = newResult();
    const spec = {
      ...SPEC,
      request: null,
      sources: [sourceAt([`${server.origin}/0`], folder)],
      savedFiles: [],
      recovering: true,
      claimedTaskId: null,
      destination: { ...world.destination, folder } as Destination,
    };
    await saveImages(spec, result, world.deps);
    return result.files[0]?.path ?? "";
  };
  const [one, other] = await Promise.all([save(), save()]);
  expect([one, other]).toEqual([one, one]);
  expect((await readFile(one)).equals(image)).toBe(true);
  expect(await readdir(folder)).toEqual([path.basename(one)]);
});

describe("a sidecar", () => {
  const facts = {
    taskId: "task-1",
    service: "https://service.example/api",
    request: { prompt: "a fox with sk-key-of-this-account", model: "gamma-image-2" },
    credits: 2,
    submittedAt: null,
    completedAt: null,
  };
  const destination = { sidecar: true };

  it("is written for an image that was published just before its process was killed", async () => {
    const existing = { "a-fox.png": png() };
    const { names, warnings } = await saving({ facts, destination, existing, recovering: true });
    expect({ names, warnings }).toEqual({ names: ["a-fox.png", "a-fox.png.json"], warnings: [] });
  });

  it("that such a process has written as well is no reason for a warning", async () => {
    const first = await saving({ facts, destination });
    const sidecar = await readFile(path.join(first.folder, "a-fox.png.json"));
    const existing = { "a-fox.png": png(), "a-fox.png.json": sidecar };
    const { names, warnings } = await saving({ facts, destination, existing, recovering: true });
    expect({ names, warnings }).toEqual({ names: ["a-fox.png", "a-fox.png.json"], warnings: [] });
  });

  it("holds no API key, wherever it comes from", async () => {
    const deps = await taskWorld("http://127.0.0.1:1/api").then((world) => world.deps);
    const connection = { ...deps.connection, maskKey: keyMasker("sk-key-of-this-account") };
    const { folder } = await saving({ facts, destination, deps: { connection } });
    const { request } = JSON.parse(await readFile(path.join(folder, "a-fox.png.json"), "utf8"));
    expect(request.prompt).toBe("a fox with sk-…ount");
  });
});

describe("under --overwrite, with another process on the same batch", () => {
  it("a name that the other is replacing just then is left to it: the image gets a number", async () => {
    const reservation = `.imggen-name-${sha256(Buffer.from("a-fox.png")).slice(0, 16)}..0123abcd`;
    const lease = newLease(systemProcesses().self, 60_000, Date.now());
    const existing = { "a-fox.png": "old", [reservation]: JSON.stringify(lease) };
    const { folder, saved } = await saving({ destination: { overwrite: true }, existing });
    expect(saved).toEqual(["a-fox-2.png"]);
    expect(await readFile(path.join(folder, "a-fox.png"), "utf8")).toBe("old");
  });

  it("an image is as old as its name, so that the other does not take it for an old file", async () => {
    const { folder, clock } = await saving({ destination: { overwrite: true } });
    const { mtimeMs } = await stat(path.join(folder, "a-fox.png"));
    expect(Math.abs(mtimeMs - clock.now())).toBeLessThan(1000);
  });
});
