import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { layOutSheet, type SheetEntry } from "../../../src/cli/commands/batch/sheet.ts";
import { commandWorld } from "../../support/command-world.ts";
import { failure, success } from "../../support/scripted-server.ts";
import { inTurn } from "../../support/scripts.ts";
import { words } from "../../support/words.ts";

const COMPARE = words('compare "a <b>fox</b> & hare" -m z-image,alpha-2 -r 1:1 -o made --sheet');

/** How much of a part of an image is dark: text is. */
async function darkness(
  file: string,
  left: number,
  top: number,
  width: number,
  height: number,
): Promise<number> {
  const part = sharp(file).extract({ left, top, width, height }).greyscale();
  const bytes = await part.raw().toBuffer();
  return bytes.filter((byte) => byte < 90).length / bytes.length;
}

describe("--sheet", () => {
  it("on compare makes one picture: the prompt on top, and a labelled image for each combination", async () => {
    const world = await commandWorld();
    const { code, document } = await world.json(COMPARE);
    const sheet = path.join(world.cwd, "made/contact-sheet.png");
    expect({ code, sheet: document.sheet }).toEqual({ code: 0, sheet });
    const { format, width = 0, height = 0 } = await sharp(sheet).metadata();
    expect({ format, width }).toEqual({ format: "png", width: 16 + 2 * 336 });
    expect(await darkness(sheet, 16, 16, 300, 20)).toBeGreaterThan(0.01);
    for (const left of [16, 352])
      expect(await darkness(sheet, left, height - 40, 320, 40)).toBeGreaterThan(0.01);
  });

  const entry = (values: SheetEntry["values"], end = "0.4 s"): SheetEntry => ({
    image: null,
    values: { prompt: "a fox", model: "z-image", ratio: "1:1", cost: "2 credits", ...values },
    outcomeText: end,
  });
  const labels = ({ cells }: ReturnType<typeof layOutSheet>) => cells.map(({ label }) => label);

  it("of a comparison labels each image with the values that differ, and says the rest once", () => {
    const layout = layOutSheet([
      entry({ ratio: "1:1" }),
      entry({ ratio: "16:9", seed: "7" }),
      entry({ model: "alpha-2", ratio: "16:9" }, "failed"),
    ]);
    expect(layout.top).toEqual(["a fox", "2 credits each"]);
    expect(labels(layout)).toEqual([
      "z-image · 1:1 · 0.4 s",
      "z-image · 16:9 · seed=7 · 0.4 s",
      "alpha-2 · 16:9 · failed",
    ]);
  });

  it("of a batch has the prompt below each image, and what else differs", () => {
    const prompts = ["a fox", "an owl", "x".repeat(200)];
    const layout = layOutSheet(prompts.map((prompt) => entry({ prompt, cost: `${prompt.length} credits` })));
    expect(layout.top).toEqual(["z-image · 1:1"]);
    expect(labels(layout)).toEqual([
      "a fox\n5 credits · 0.4 s",
      "an owl\n6 credits · 0.4 s",
      `${"x".repeat(110)}…\n200 credits · 0.4 s`,
    ]);
  });

  it("on batch shows every row, those without an image too, and is replaced where the batch is run again", async () => {
    const submit = inTurn(
      (_request, socket) => void socket.write(success({ taskId: "task-1" })),
      (_request, socket) => void socket.write(failure("prompt_rejected")),
    );
    const world = await commandWorld({ submit });
    await writeFile(path.join(world.cwd, "prompts.txt"), "a fox\nan owl\n");
    const batch = ["batch", "prompts.txt", "-m", "z-image", "-o", "made", "--concurrency", "1", "--sheet"];
    expect((await world.run(batch)).stderr).toContain(`Contact sheet: ${world.cwd}/made/contact-sheet.png\n`);
    const { width } = await sharp(path.join(world.cwd, "made/contact-sheet.png")).metadata();
    expect(width).toBe(16 + 2 * 336);
    const sheets = async () =>
      (await readdir(path.join(world.cwd, "made"))).filter((name) => name.startsWith("contact-sheet")).sort();
    await writeFile(path.join(world.cwd, "prompts.txt"), "a fox\nan owl\na hare\n");
    await world.run(batch);
    expect(await sheets()).toEqual(["contact-sheet.png"]);
    const replaced = await sharp(path.join(world.cwd, "made/contact-sheet.png")).metadata();
    expect(replaced.height).toBeGreaterThan(400);
    await writeFile(path.join(world.cwd, "made/contact-sheet.png"), "a file of somebody else's");
    await world.run(batch);
    expect(await sheets()).toEqual(["contact-sheet-2.png", "contact-sheet.png"]);
    await world.run([...batch, "--overwrite"]);
    expect(await sheets()).toEqual(["contact-sheet-2.png", "contact-sheet.png"]);
  });

  it("of another comparison in the same folder gets a number", async () => {
    const world = await commandWorld();
    const made = async () =>
      (await readdir(path.join(world.cwd, "made"))).filter((name) => name.startsWith("contact-sheet"));
    await world.run(COMPARE);
    await world.run(COMPARE);
    expect(await made()).toHaveLength(1);
    await world.run(words("compare hares -m z-image,alpha-2 -r 1:1 -o made --sheet"));
    expect(await made()).toHaveLength(2);
  });

  it("that cannot be made is a warning: the images are saved", async () => {
    const world = await commandWorld();
    await mkdir(path.join(world.cwd, "made/contact-sheet.png/full"), { recursive: true });
    const { code, stderr } = await world.run([...COMPARE, "--overwrite"]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("The contact sheet could not be created: "),
    });
    const names = await readdir(path.join(world.cwd, "made"));
    expect(names.filter((name) => name.startsWith(".imggen-sheet"))).toEqual([]);
    expect(names.filter((name) => name.startsWith("a-b-fox"))).toHaveLength(2);
  });

  it("is not made unless it is asked for", async () => {
    const world = await commandWorld();
    await world.run(COMPARE.slice(0, -1));
    expect(await readdir(path.join(world.cwd, "made"))).not.toContain("contact-sheet.png");
    await expect(readFile(path.join(world.cwd, "made/contact-sheet.png"))).rejects.toThrow("ENOENT");
  });
});
