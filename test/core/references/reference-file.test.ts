import { execFileSync } from "node:child_process";
import { mkdir, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { readReferenceFile } from "../../../src/core/references/reference-file.ts";
import { pngChunk } from "../../lib/image/builders.ts";
import { PICTURE, sha256 } from "../../support/images.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function folderWith(name: string, bytes: Buffer | string) {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, name), bytes);
  return folder;
}

const read = (folder: string, name: string) =>
  readReferenceFile(name, "--image", (file) => path.resolve(folder, file));

/** A PNG of exactly so many bytes, whole: its text chunk is as long as it must be. */
function pngOf(bytes: number): Buffer {
  const text = pngChunk("tEXt", Buffer.alloc(bytes - PICTURE.length - pngChunk("tEXt").length, "a"));
  return Buffer.concat([PICTURE.subarray(0, -pngChunk("IEND").length), text, pngChunk("IEND")]);
}

describe("a reference image on disk", () => {
  it("is taken by its path or its file: URL, and known by its bytes", async () => {
    const folder = await folderWith("a fox.png", PICTURE);
    const file = path.join(folder, "a fox.png");
    const facts = {
      path: file,
      bytes: PICTURE.length,
      sha256: sha256(PICTURE),
      extension: "png",
      warning: null,
    };
    expect(await read(folder, "a fox.png")).toEqual({ name: "a fox.png", ...facts });
    const url = pathToFileURL(file).href;
    expect(await read(folder, url)).toEqual({ name: url, ...facts });
  });

  it.each([
    ["missing", "nope.png", /^--image nope.png cannot be read: no such file or folder/],
    ["a folder", "folder", /^--image folder is not a regular file/],
    ["a named pipe", "pipe", /^--image pipe is not a regular file/],
    ["empty", "empty.png", /^--image empty.png is not an image \(/],
    ["an HTML page", "page.png", /^--image page.png is not an image \(an HTML page\)/],
    ["a GIF", "fox.gif", /^--image fox.gif is of the type GIF: the service supports JPEG, PNG and WebP/],
    ["cut short", "half.png", /^--image half.png is incomplete \(PNG cut short/],
    ["a file: URL of another machine", "file://other/fox.png", /is not the URL of a file on this machine/],
    ["a name with NUL", "a\0b", /NUL/],
  ])("is refused where it is %s: nothing was uploaded or sent", async (_what, name, message) => {
    const folder = await folderWith("half.png", PICTURE.subarray(0, -20));
    await mkdir(path.join(folder, "folder"));
    if (name === "pipe") execFileSync("mkfifo", [path.join(folder, "pipe")]);
    await writeFile(path.join(folder, "empty.png"), "");
    await writeFile(path.join(folder, "page.png"), "<!doctype html><p>Not found</p>");
    const gif = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    await writeFile(path.join(folder, "fox.gif"), Buffer.from(gif, "base64"));
    await expect(read(folder, name)).rejects.toMatchObject({
      type: "usage",
      message: expect.stringMatching(message),
      hint: expect.stringMatching(/^Nothing was/),
    });
  });

  it("may have 4 MiB, with a warning above 4,000,000 bytes, and not one byte more", async () => {
    const folder = await folderWith("exact.png", pngOf(4_000_000));
    await writeFile(path.join(folder, "above.png"), pngOf(4 * 1024 * 1024));
    await writeFile(path.join(folder, "large.png"), "");
    await truncate(path.join(folder, "large.png"), 4 * 1024 * 1024 + 1);
    expect(await read(folder, "exact.png")).toMatchObject({ warning: null });
    expect(await read(folder, "above.png")).toMatchObject({ warning: expect.stringContaining('"4 MB"') });
    await expect(read(folder, "large.png")).rejects.toThrow(
      "has 4,194,305 bytes: the service accepts at most 4 MB",
    );
  });
});
