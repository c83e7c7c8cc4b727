import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { galleryWorld, writeImage } from "../support/gallery-world.ts";
import { PICTURE, png } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { json } from "../support/scripted-server.ts";

const IMAGE = json({ images: [png().toString("base64")], info: '{"seed": 7}' });

describe("gallery", () => {
  it("shows what the ledger knows of each image, and other images without a prompt", async () => {
    const world = await galleryWorld(["a fox", "an owl"]);
    await writeImage(path.join(world.folder, "deep/er/other.png"), "red");
    const { code, document } = await world.gallery();
    expect({ code, document }).toMatchObject({ code: 0, document: { ok: true, images: 3, unreadable: [] } });
    expect(await world.shown()).toMatchObject({
      "image-0.png": {
        file: "image-0.png",
        prompt: "a fox",
        model: "gamma-image-2",
        quality: "2K",
        credits: 4,
        task: "task-1",
        width: 64,
        height: 48,
        command: "imggen rerun task-1",
      },
      "image-1.png": { prompt: "an owl", model: "vendor1/alpha-2", task: "task-2" },
      "deep/er/other.png": { file: "deep/er/other.png", prompt: null, command: null, width: 64 },
    });
  });

  it("knows the images of another machine by their sidecars", async () => {
    const world = await galleryWorld();
    await world.run(["generate", "a fox", "-m", "z-image", "-o", "pictures/fox.png", "--sidecar"]);
    await copyFile(path.join(world.folder, "fox.png"), path.join(world.folder, "copy.png"));
    await world.run(["gallery", "pictures"], { home: path.join(world.cwd, "elsewhere") });
    expect(await world.shown()).toMatchObject({
      "fox.png": { prompt: "a fox" },
      "copy.png": { prompt: null },
    });
  });

  it("makes a command that runs where the image was made, and shows no signature", async () => {
    const world = await galleryWorld(["a hare"]);
    const signed = "https://cdn.example/in.png?signature=secret";
    const fox = ["generate", "a fox", "-m", "gamma-image-2", "-q", "1K", "--image", signed];
    await world.run([...fox, "-o", "pictures/fox.png"]);
    await world.run(["generate", "a hen", "-m", "z-image", "--sandbox", "-o", "pictures/hen.png"]);
    const elk = ["generate", "an elk", "-m", "gamma-image-2", "-q", "1K", "--sandbox"];
    await world.run([...elk, "-o", "pictures/elk.png"]);
    await world.gallery();
    const shown = await world.shown();
    // Play money is no cost, and not a part of the page's total.
    expect([shown["hen.png"]?.credits, shown["elk.png"]?.credits]).toEqual([0, 0]);
    expect(shown["image-0.png"]?.command).toBe("imggen rerun task-1");
    expect(shown["fox.png"]?.command).toBe("imggen rerun task-2");
    expect(shown["hen.png"]?.command).toBe(`imggen rerun ${shown["hen.png"]?.task} --sandbox`);
    expect(await world.page()).not.toContain("secret");
  });

  it("makes a command that names the profile of a service, or the user's generator", async () => {
    const world = await galleryWorld();
    const generator = await liveServer((_request, socket) => void socket.write(IMAGE));
    const spec = `sdapi:${generator.origin}`;
    const draw = (name: string, ...flags: string[]) =>
      world.run(["generate", "a fox", "-o", `pictures/${name}`, ...flags]);
    await draw("own.png", "--generator", spec);
    await world.gallery();
    const id = (await world.shown())["own.png"]?.task;
    expect((await world.shown())["own.png"]?.command).toBe(`imggen rerun ${id} --generator ${spec}`);
    await draw("fox.png", "-m", "z-image");
    const profile = async (name: string, settings: string) => {
      const folder = path.join(world.home, "config", "profiles", name);
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, "config.json"), settings);
    };
    await profile("draft", JSON.stringify({ generator: `${spec}/` }));
    await profile("work", JSON.stringify({ baseUrl: `${world.server.baseUrl}/` }));
    await profile("broken", "{");
    await world.gallery();
    const shown = await world.shown();
    expect(shown["own.png"]?.command).toBe(`imggen rerun ${id} --profile draft`);
    expect(shown["fox.png"]?.command).toBe(`imggen rerun ${shown["fox.png"]?.task} --profile work`);
  });

  it("makes a command of an image's path where its sidecar alone is known, and believes no generator in it", async () => {
    const world = await galleryWorld();
    const elsewhere = { home: path.join(world.cwd, "elsewhere") };
    await world.run(["generate", "a fox", "-m", "z-image", "-o", "pictures/a fox.png", "--sidecar"]);
    const sidecar = path.join(world.folder, "a fox.png.json");
    const commandOf = async (service: string) => {
      const facts = JSON.parse(await readFile(sidecar, "utf8"));
      await writeFile(sidecar, JSON.stringify({ ...facts, service }));
      await world.run(["gallery", "pictures"], elsewhere);
      return (await world.shown())["a fox.png"]?.command;
    };
    const plain = `imggen rerun '${path.join(world.folder, "a fox.png")}'`;
    expect(await commandOf("https://other.example/api")).toBe(plain);
    expect(await commandOf("command:rm -rf {output} {prompt}")).toBe(plain);
    expect(await commandOf("sandbox")).toBe(`${plain} --sandbox`);
  });

  it("thumbnails are small WebP files beside the page, or in it with --inline", async () => {
    const world = await galleryWorld();
    await writeImage(path.join(world.folder, "large.png"), "teal", 1500);
    await world.gallery();
    const { thumbnail = "" } = (await world.shown())["large.png"] ?? {};
    expect(thumbnail).toMatch(/^gallery-thumbnails\/[0-9a-f]{16}-[0-9a-f]{64}-1500x1500\.webp$/);
    const { format, width } = await sharp(path.join(world.folder, thumbnail)).metadata();
    expect({ format, width }).toEqual({ format: "webp", width: 384 });
    await rm(path.join(world.folder, "gallery-thumbnails"), { recursive: true });
    await world.gallery("--inline");
    expect((await world.shown())["large.png"]?.thumbnail).toMatch(/^data:image\/webp;base64,UklGR/);
    expect(await readdir(world.folder)).toEqual(["gallery.html", "large.png"]);
  });

  it("reads again only what has changed, and forgets what is gone", async () => {
    const world = await galleryWorld();
    const file = (name: string) => path.join(world.folder, name);
    for (const name of ["red", "blue", "lime"]) await writeImage(file(`${name}.png`), name);
    expect((await world.gallery()).document.thumbnailsMade).toBe(3);
    await writeFile(file("gallery-thumbnails/mine.txt"), "stays");
    await rm(file("lime.png"));
    await writeImage(file("blue.png"), "navy", 65);
    await rename(file("red.png"), file("renamed.png"));
    expect((await world.gallery()).document.thumbnailsMade).toBe(1);
    expect(Object.keys(await world.shown())).toEqual(["blue.png", "renamed.png"]);
    const kept = await readdir(file("gallery-thumbnails"));
    expect(kept.filter((name) => name.endsWith(".webp"))).toHaveLength(2);
    expect(kept).toContain("mine.txt");
    expect((await world.gallery()).document.thumbnailsMade).toBe(0);
  });

  it("does not read an image again whose path, size and time are the same", async () => {
    const world = await galleryWorld();
    const file = (name: string) => path.join(world.folder, name);
    const overwrite = async (name: string, bytes: Buffer, seconds: number) => {
      await writeFile(file(name), bytes);
      await utimes(file(name), seconds, seconds);
    };
    for (const name of ["a.png", "b.png"]) await overwrite(name, PICTURE, 1);
    await world.gallery();
    const before = await world.shown();
    const noImage = Buffer.alloc(PICTURE.length);
    await overwrite("a.png", noImage, 1);
    expect((await world.gallery()).document).toMatchObject({ images: 2, unreadable: [] });
    expect(await world.shown()).toEqual(before);
    await overwrite("b.png", noImage, 2);
    expect((await world.gallery()).document).toMatchObject({ images: 1, unreadable: [{ name: "b.png" }] });
  });

  it("shows the thumbnail of an image and of its copy, of which one goes", async () => {
    const world = await galleryWorld();
    const file = (name: string) => path.join(world.folder, name);
    await writeImage(file("a.png"), "red");
    await world.gallery();
    await copyFile(file("a.png"), file("b.png"));
    expect((await world.gallery()).document.thumbnailsMade).toBe(0);
    await rm(file("a.png"));
    expect((await world.gallery()).document.thumbnailsMade).toBe(0);
    const { thumbnail = "" } = (await world.shown())["b.png"] ?? {};
    expect((await sharp(file(thumbnail)).metadata()).format).toBe("webp");
  });

  it("leaves out, by name, what is no whole image, and passes over all other files", async () => {
    const world = await galleryWorld();
    const file = (name: string) => path.join(world.folder, name);
    await writeFile(file("cut.png"), PICTURE.subarray(0, 60));
    await writeFile(file("drawing.svg"), "<svg/>");
    await writeFile(file("disguised.png"), "<svg xmlns='http://www.w3.org/2000/svg'/>");
    await writeFile(file("good.png"), PICTURE);
    await symlink(world.folder, file("circle"));
    const { code, document } = await world.gallery();
    expect({ code, document }).toMatchObject({ code: 0, document: { images: 1 } });
    expect(document.unreadable).toEqual([
      { name: "cut.png", why: expect.stringContaining("cut short") },
      { name: "disguised.png", why: "an SVG document" },
    ]);
    expect((await world.run(["gallery", "pictures"])).stderr).toMatch(
      /^warning: Skipped, because the files cannot be read: cut\.png \(.+\), disguised\.png \(an SVG document\)\.\n1 image, 0 new thumbnails\.\n$/,
    );
  });

  it("takes names with quotes, spaces and line breaks, and a prompt with HTML, as text", async () => {
    const hostile = `</script><script>alert("1")</script><!-- <b>'`;
    const world = await galleryWorld([hostile]);
    const name = 'a "b" & <c> #1%\n?.png';
    await writeFile(path.join(world.folder, name), PICTURE);
    await world.gallery();
    const shown = await world.shown();
    expect(shown["image-0.png"]?.prompt).toBe(hostile);
    expect(decodeURIComponent(shown[name]?.file ?? "")).toBe(name);
    expect((await world.page()).match(/<script/g)).toHaveLength(2);
  });

  it("replaces its own page, and no other file without --overwrite", async () => {
    const world = await galleryWorld();
    await writeFile(path.join(world.folder, "gallery.html"), "<h1>mine</h1>");
    const refused = await world.gallery();
    expect({ code: refused.code, type: refused.document.error?.type }).toEqual({ code: 2, type: "usage" });
    expect(await world.page()).toBe("<h1>mine</h1>");
    expect((await world.gallery("--overwrite")).code).toBe(0);
    expect((await world.gallery()).code).toBe(0);
  });

  it("goes where --output says, and finds the images from there", async () => {
    const world = await galleryWorld();
    await writeFile(path.join(world.folder, "fox.png"), PICTURE);
    const { code } = await world.run(["gallery", "pictures", "--output", "site/index.html"]);
    expect(code).toBe(0);
    const html = await readFile(path.join(world.cwd, "site/index.html"), "utf8");
    expect(html).toContain('"file":"../pictures/fox.png"');
    expect(html).toContain("<title>pictures</title>");
    expect((await stat(path.join(world.cwd, "site/index-thumbnails"))).isDirectory()).toBe(true);
  });

  it("of a folder that is not there is a usage error; of one that takes no page, save_failed with nothing charged", async () => {
    const world = await galleryWorld();
    expect((await world.json(["gallery", "nowhere"])).document.error?.type).toBe("usage");
    await writeFile(path.join(world.cwd, "file"), "");
    const { code, document } = await world.gallery("--output", "file/page.html");
    expect({ code, type: document.error?.type, charged: document.charged }).toEqual({
      code: 8,
      type: "save_failed",
      charged: "no",
    });
  });

  it("that is interrupted leaves no page, and need not begin again", async () => {
    const world = await galleryWorld();
    for (const name of ["red", "blue"]) await writeImage(path.join(world.folder, `${name}.png`), name);
    const { code } = await world.run(["gallery", "pictures"], {
      signal: AbortSignal.abort(new Error("stopped")),
    });
    expect(code).not.toBe(0);
    expect(await readdir(world.folder)).not.toContain("gallery.html");
    expect((await world.gallery()).document.images).toBe(2);
  });

  it("of an empty folder is an empty page", async () => {
    const world = await galleryWorld();
    expect((await world.gallery()).document.images).toBe(0);
  });
});
