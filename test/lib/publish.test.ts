import { execFileSync } from "node:child_process";
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { nameIsTaken, publish, readPublished } from "../../src/lib/publish.ts";
import { temporaryFolder } from "../support/program.ts";
import { tinyDisk } from "../support/tiny-disk.ts";

async function finishedFile(content = "new") {
  const folder = await temporaryFolder();
  const temporary = path.join(folder, ".part");
  await writeFile(temporary, content);
  return { folder, temporary, target: path.join(folder, "image.png") };
}

describe("publishing a finished file", () => {
  it("gives it its name, and takes the temporary one away", async () => {
    const { folder, temporary, target } = await finishedFile();
    expect(await publish(temporary, target, false)).toBe("published");
    expect(await readFile(target, "utf8")).toBe("new");
    expect(await readdir(folder)).toEqual(["image.png"]);
  });

  it("never touches an existing file", async () => {
    const { temporary, target } = await finishedFile();
    await writeFile(target, "old");
    expect(await publish(temporary, target, false)).toBe("exists");
    expect(await readFile(target, "utf8")).toBe("old");
    expect(await readFile(temporary, "utf8")).toBe("new");
  });

  it("never touches a link, whether it leads somewhere or nowhere", async () => {
    const { folder, temporary, target } = await finishedFile();
    await symlink(path.join(folder, "nowhere"), target);
    expect(await publish(temporary, target, false)).toBe("exists");
    expect((await lstat(target)).isSymbolicLink()).toBe(true);
    expect(await readdir(folder)).not.toContain("nowhere");
  });

  it("never touches a folder or a pipe", async () => {
    const { folder, temporary } = await finishedFile();
    await mkdir(path.join(folder, "folder"));
    execFileSync("mkfifo", [path.join(folder, "pipe")]);
    expect(await publish(temporary, path.join(folder, "folder"), false)).toBe("exists");
    expect(await publish(temporary, path.join(folder, "pipe"), false)).toBe("exists");
    expect((await lstat(path.join(folder, "pipe"))).isFIFO()).toBe(true);
  });

  it("lets exactly one of many have a name", async () => {
    const { folder, target } = await finishedFile();
    const files = Array.from({ length: 16 }, (_, index) => path.join(folder, `.part-${index}`));
    await Promise.all(files.map((file) => writeFile(file, file)));
    const ends = await Promise.all(files.map((file) => publish(file, target, false)));
    expect(ends.filter((end) => end === "published")).toHaveLength(1);
    expect(await readFile(target, "utf8")).toBe(files[ends.indexOf("published")]);
  });
});

describe("publishing over what exists", () => {
  it("replaces a file", async () => {
    const { folder, temporary, target } = await finishedFile();
    await writeFile(target, "old");
    expect(await publish(temporary, target, true)).toBe("published");
    expect(await readFile(target, "utf8")).toBe("new");
    expect(await readdir(folder)).toEqual(["image.png"]);
  });

  it("replaces a link itself, not what it leads to", async () => {
    const { folder, temporary, target } = await finishedFile();
    await writeFile(path.join(folder, "other"), "old");
    await symlink(path.join(folder, "other"), target);
    await publish(temporary, target, true);
    expect((await lstat(target)).isFile()).toBe(true);
    expect(await readFile(path.join(folder, "other"), "utf8")).toBe("old");
  });

  it("cannot replace a folder", async () => {
    const { temporary, target } = await finishedFile();
    await mkdir(target);
    await expect(publish(temporary, target, true)).rejects.toThrow();
    expect(await readFile(temporary, "utf8")).toBe("new");
  });
});

describe("publishing where it cannot be done", () => {
  it("fails in a folder that is gone, and keeps the temporary file", async () => {
    const { folder, temporary } = await finishedFile();
    const target = path.join(folder, "gone", "image.png");
    await expect(publish(temporary, target, false)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await readFile(temporary, "utf8")).toBe("new");
  });

  it("leaves nothing half written on another disk", async ({ skip }) => {
    const disk = tinyDisk(64);
    if (disk === null) return skip("no disk can be mounted here");
    const { temporary } = await finishedFile();
    const publishing = publish(temporary, path.join(disk, "image.png"), false);
    await expect(publishing).rejects.toMatchObject({ code: "EXDEV" });
    expect(await readdir(disk)).toEqual([]);
  });
});

describe("a name", () => {
  it("is taken by a link that leads nowhere, and free where nothing is, or where its folder is a file", async () => {
    const { folder, temporary, target } = await finishedFile();
    expect(await nameIsTaken(target)).toBe(false);
    expect(await nameIsTaken(path.join(temporary, "below"))).toBe(false);
    await symlink(path.join(folder, "nowhere"), target);
    expect(await nameIsTaken(target)).toBe(true);
  });
});

describe("reading what another process publishes", () => {
  const isWhole = (text: string) => text.endsWith("\n");

  it("waits until it is whole", async () => {
    const file = path.join(await temporaryFolder(), "file");
    await writeFile(file, "ha");
    const reading = readPublished(file, isWhole);
    setTimeout(() => void writeFile(file, "half\n"), 60);
    expect(await reading).toBe("half\n");
  });

  it("takes it as it is where whoever made it was stopped in the middle", async () => {
    const file = path.join(await temporaryFolder(), "file");
    await writeFile(file, "ha");
    expect(await readPublished(file, isWhole)).toBe("ha");
  });
});
