import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import sharp from "sharp";
import { buildPng } from "../lib/image/builders.ts";
import { commandWorld } from "./command-world.ts";
import { response } from "./scripted-server.ts";

/** What a page says of an image. */
export interface ShownImage {
  file: string;
  thumbnail: string;
  name: string;
  prompt: string | null;
  command: string | null;
  credits: number | null;
  task: string | null;
  date: string;
}

/** A folder of images, each of another colour; those with a prompt are generated. */
export async function galleryWorld(prompts: readonly string[] = []) {
  let files = 0;
  // Bytes of their own, so that each is known to be its own task's.
  const file = (_request: unknown, socket: Socket) =>
    void socket.write(response(200, buildPng(64 + files++, 48)));
  const world = await commandWorld({ file });
  const folder = path.join(world.cwd, "pictures");
  await mkdir(folder);
  for (const [at, prompt] of prompts.entries()) {
    const [model, quality] = at % 2 === 0 ? ["gamma-image-2", "2K"] : ["alpha-2", "1K"];
    const output = path.join(folder, `image-${at}.png`);
    await world.run(["generate", "-m", model ?? "", "-q", quality ?? "", "-o", output, "--", prompt]);
  }
  const page = () => readFile(path.join(folder, "gallery.html"), "utf8");
  return {
    ...world,
    folder,
    page,
    /** Makes the page. */
    gallery: (...flags: string[]) => world.json(["gallery", "pictures", ...flags]),
    /** What the page says of its images, by their names. */
    async shown(): Promise<Record<string, ShownImage>> {
      const json =
        /<script type="application\/json" id="images">(.*)<\/script>/.exec(await page())?.[1] ?? "";
      const images: ShownImage[] = JSON.parse(json);
      return Object.fromEntries(images.map((image) => [image.name, image]));
    },
  };
}

/** Writes an image of one colour. */
export async function writeImage(file: string, background: string, size = 64): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const image = sharp({ create: { width: size, height: size, channels: 3, background } });
  await writeFile(file, await image.png().toBuffer());
}
