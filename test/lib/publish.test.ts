import { execFileSync } from "node:child_process";
import { promises } from "node:fs";
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isNameTaken, publish, readPublished } from "../../src/lib/publish.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tinyDisk } from "../support/tiny-disk.ts";

const unreserved = async () => async () => {};

/** Makes `link` answer as file systems do that have none. */
function withoutHardLinks(code: string): void {
  const { link } = promises;
  promises.link = async () => {
    throw Object.assign(new Error("no"), { code });
  };
  onTestFinished(() => {
    promises.link = link;
  });
}

async function finishedFile(content = "new") {
  const folder = await temporaryFolder();
  const temporary = path.join(folder, ".part");
  await writeFile(temporary, content);
  return { folder, temporary, target: path.join(folder, "image.png") };
}

describe("publishing a finished file", () => {
  it("gives it its name, and takes the temporary one away", async () => {
    const { folder, temporary, target } = await finishedFile();
    expect(await publish(temporary, target, unreserved)).toBe("published");
    expect(await readFile(target, "utf8")).toBe("new");
    expect(await readdir(folder)).toEqual(["image.png"]);
  });

  it.each<[string, (target: string) => unknown]>([
    ["an existing file", (target) => writeFile(target, "old")],
    ["a link that leads nowhere", (target) => symlink(path.join(path.dirname(target), "nowhere"), target)],
    ["a folder", (target) => mkdir(target)],
    ["a pipe", (target) => execFileSync("mkfifo", [target])],
  ])("never touches %s", async (_what, make) => {
    const { folder, temporary, target } = await finishedFile();
    await make(target);
    const before = await lstat(target);
    expect(await publish(temporary, target, unreserved)).toBe("exists");
    const { ino, mode, size } = await lstat(target);
    expect([ino, mode, size]).toEqual([before.ino, before.mode, before.size]);
    expect(await readFile(temporary, "utf8")).toBe("new");
    expect(await readdir(folder)).not.toContain("nowhere");
  });

  it("lets exactly one of many have a name", async () => {
    const { folder, target } = await finishedFile();
    const files = Array.from({ length: 16 }, (_, index) => path.join(folder, `.part-${index}`));
    await Promise.all(files.map((file) => writeFile(file, file)));
    const ends = await Promise.all(files.map((file) => publish(file, target, unreserved)));
    expect(ends.filter((end) => end === "published")).toHaveLength(1);
    expect(await readFile(target, "utf8")).toBe(files[ends.indexOf("published")]);
  });
});

describe("publishing without hard links", () => {
  it.each(["EPERM", "ENOTSUP", "EISDIR"])(
    "(%s) moves the file to a name that is reserved and free",
    async (code) => {
      const { folder, temporary, target } = await finishedFile();
      withoutHardLinks(code);
      const steps: string[] = [];
      const reserve = async (file: string) => {
        steps.push(`reserve ${path.basename(file)}`);
        return async () => void steps.push(`release, with ${(await readdir(folder)).join()}`);
      };
      expect(await publish(temporary, target, reserve)).toBe("published");
      expect(steps).toEqual(["reserve image.png", "release, with image.png"]);
      expect(await readFile(target, "utf8")).toBe("new");
    },
  );

  it("leaves a name alone that another process has reserved", async () => {
    const { folder, temporary, target } = await finishedFile();
    withoutHardLinks("EPERM");
    expect(await publish(temporary, target, async () => null)).toBe("exists");
    expect(await readdir(folder)).toEqual([".part"]);
  });

  it("never touches an existing file, and gives its reservation up", async () => {
    const { temporary, target } = await finishedFile();
    await writeFile(target, "old");
    withoutHardLinks("EPERM");
    let released = 0;
    const reserve = async () => async () => {
      released += 1;
    };
    expect(await publish(temporary, target, reserve)).toBe("exists");
    expect(await readFile(target, "utf8")).toBe("old");
    expect(released).toBe(1);
  });
});

describe("publishing where it cannot be done", () => {
  it("fails in a folder that is gone, and keeps the temporary file", async () => {
    const { folder, temporary } = await finishedFile();
    const target = path.join(folder, "gone", "image.png");
    await expect(publish(temporary, target, unreserved)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await readFile(temporary, "utf8")).toBe("new");
  });

  it("leaves nothing half written on another disk", async ({ skip }) => {
    const disk = tinyDisk(64);
    if (disk === null) return skip("needs permission to mount");
    const { temporary } = await finishedFile();
    const publishing = publish(temporary, path.join(disk, "image.png"), unreserved);
    await expect(publishing).rejects.toMatchObject({ code: "EXDEV" });
    expect(await readdir(disk)).toEqual([]);
  });
});

it("a name is taken by a link that leads nowhere, and free where nothing is, or where its folder is a file", async () => {
  const { folder, temporary, target } = await finishedFile();
  expect(await isNameTaken(target)).toBe(false);
  expect(await isNameTaken(path.join(temporary, "below"))).toBe(false);
  await symlink(path.join(folder, "nowhere"), target);
  expect(await isNameTaken(target)).toBe(true);
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
