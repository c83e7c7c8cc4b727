import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { asAnotherUser, CAN_BE_ANOTHER_USER } from "../support/another-user.ts";
import { writeImage } from "../support/gallery-world.ts";
import { programWorld } from "../support/program-world.ts";
import { hasTool } from "../support/tools.ts";
import { words } from "../support/words.ts";

/** A folder with one image, as someone else may have given it away, below a folder with a file of the user's. */
async function foreignFolder() {
  const world = await programWorld(null);
  const folder = path.join(world.folder, "given");
  const thumbnails = path.join(folder, "gallery-thumbnails");
  const image = path.join(folder, "fox.png");
  await writeImage(image, "teal");
  await writeFile(path.join(world.folder, "precious.webp"), "precious");
  const { size, mtimeMs } = await stat(image);
  const digest = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");
  const sha256 = digest(await readFile(image));
  const key = digest(JSON.stringify(["fox.png", size, mtimeMs])).slice(0, 16);
  return {
    ...world,
    world,
    folder,
    thumbnails,
    image,
    /** The name that the image's thumbnail has. */
    thumbnail: path.join(thumbnails, `${key}-${sha256}-64x64.webp`),
    precious: path.join(world.folder, "precious.webp"),
    gallery: (...flags: string[]) => world.run(["gallery", folder, ...flags, "--json"]),
    page: () => readFile(path.join(folder, "gallery.html"), "utf8"),
    /** Makes the folder of thumbnails, with the mark of one that imggen made. */
    async markThumbnails() {
      await mkdir(thumbnails, { recursive: true });
      await writeFile(path.join(thumbnails, "made-by-imggen"), "");
    },
    key,
    sha256,
  };
}

it("a thumbnail whose name has no digest of an image is neither shown nor replaced", async () => {
  const { gallery, markThumbnails, thumbnails, key, thumbnail, page } = await foreignFolder();
  await markThumbnails();
  const named = `${key}-..%2Fprecious-64x64.webp`;
  await writeFile(path.join(thumbnails, named), "given");
  expect((await gallery()).code).toBe(0);
  expect(await readFile(path.join(thumbnails, named), "utf8")).toBe("given");
  expect((await lstat(thumbnail)).isFile()).toBe(true);
  expect(await page()).not.toContain("precious");
});

it.each([
  ["a link to the user's file", (file: string, target: string) => symlink(target, file)],
  ["a link to nothing", (file: string) => symlink(path.join(path.dirname(file), "nothing"), file)],
  ["a named pipe", async (file: string) => void execFileSync("mkfifo", [file])],
])("%s that is named like a thumbnail is neither shown nor written through", async (_what, put) => {
  const { gallery, markThumbnails, thumbnails, thumbnail, precious, page } = await foreignFolder();
  await markThumbnails();
  await put(thumbnail, precious);
  expect((await gallery("--inline")).code).toBe(0);
  expect(await page()).not.toContain(Buffer.from("precious").toString("base64"));
  expect((await gallery()).code).toBe(0);
  expect((await lstat(thumbnail)).isFile()).toBe(true);
  expect(await readFile(precious, "utf8")).toBe("precious");
  expect((await readdir(thumbnails)).sort()).toEqual([path.basename(thumbnail), "made-by-imggen"]);
});

it("a folder of the user's own where a gallery's thumbnails would go is refused, and so is a link", async () => {
  const { gallery, folder, world } = await foreignFolder();
  const own = path.join(world.folder, "site-thumbnails");
  await mkdir(own);
  await writeFile(path.join(own, "index.json"), '{"mine":true}');
  await symlink(own, path.join(world.folder, "linked-thumbnails"));
  for (const [page, why] of [
    ["site.html", /site-thumbnails exists already, and is not from imggen gallery/],
    ["linked.html", /linked-thumbnails is a link/],
  ] as const) {
    const { code, stdout } = await gallery("--output", path.join(world.folder, page));
    expect([code, JSON.parse(stdout).error.message]).toEqual([2, expect.stringMatching(why)]);
  }
  expect(await readdir(own)).toEqual(["index.json"]);
  expect(await readFile(path.join(own, "index.json"), "utf8")).toBe('{"mine":true}');
  expect(await readdir(folder)).toEqual(["fox.png"]);
});

it("a sidecar from someone else runs nothing, and says nothing that no task can be", async () => {
  const { gallery, image, page, sha256 } = await foreignFolder();
  const request = { prompt: "a fox", model: "z-image", image: "https://x.example/a?…" };
  const sidecar = { taskId: "../../x", service: "https://x.example", sha256, request };
  const write = (facts: object) => writeFile(`${image}.json`, JSON.stringify({ ...sidecar, ...facts }));
  const shown = async () => {
    expect((await gallery()).code).toBe(0);
    return JSON.parse(/id="images">(.*?)<\/script>/.exec(await page())?.[1] ?? "")[0];
  };
  await write({});
  expect(await shown()).toMatchObject({ task: null, prompt: null });
  const hostile = { taskId: "$(touch x)", credits: -5, submittedAt: "soon" };
  await write({ ...hostile, request: { prompt: "$(touch x)", model: "`touch x`;" } });
  expect(await shown()).toMatchObject({
    credits: null,
    date: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    // Words of a sidecar are not in a command: rerun reads them from the file.
    command: `imggen rerun ${image}`,
  });
  // The query of its reference image is not in the sidecar, so that rerun would refuse it.
  await write({ taskId: "task-1" });
  expect(await shown()).toMatchObject({ task: "task-1", command: null });
});

it.skipIf(!hasTool("mkfifo"))("a named pipe in a page's place is refused at once, and stays", async () => {
  const { gallery, folder } = await foreignFolder();
  const pipe = path.join(folder, "gallery.html");
  execFileSync("mkfifo", [pipe]);
  const { code, stdout } = await gallery();
  expect([code, JSON.parse(stdout).error.type]).toEqual([2, "usage"]);
  expect((await lstat(pipe)).isFIFO()).toBe(true);
});

it.skipIf(!CAN_BE_ANOTHER_USER)("another's page that cannot be read is not replaced", async () => {
  const { world, folder } = await foreignFolder();
  const page = path.join(folder, "gallery.html");
  await writeFile(page, "<h1>mine</h1>", { mode: 0o600 });
  for (const each of [world.folder, folder]) await chmod(each, 0o777);
  const other = asAnotherUser({ IMGGEN_HOME: path.join(folder, "home") });
  const { code, stdout } = await world.run(["gallery", folder, "--json"], other);
  expect([code, JSON.parse(stdout).error?.type]).toEqual([2, "usage"]);
  expect(await readFile(page, "utf8")).toBe("<h1>mine</h1>");
});

it.skipIf(process.platform !== "linux").each(["show", "rerun"])(
  "%s of a file that never ends is an error at once",
  async (command) => {
    const { world } = await foreignFolder();
    // Reading it waits for the kernel's next message; its size is 0.
    const child = world.start([command, "/proc/kmsg", "--json"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    expect(await once(child, "exit")).toEqual([2, null]);
  },
);

it("thumbnails of other galleries and contact sheets of imggen are not listed as images", async () => {
  const { world, folder, gallery, image } = await foreignFolder();
  await world.run([
    ...words('compare "a fox" -m z-image --sandbox --sheet --json -o'),
    path.join(folder, "compared"),
  ]);
  expect(await readdir(path.join(folder, "compared"))).toContain("contact-sheet.png");
  await gallery("--output", path.join(folder, "other.html"));
  await copyFile(image, path.join(folder, "contact-sheet.png"));
  await utimes(path.join(folder, "contact-sheet.png"), 1, 1);
  const { images, unreadable } = JSON.parse((await gallery()).stdout);
  expect({ images, unreadable }).toEqual({ images: 3, unreadable: [] });
});
