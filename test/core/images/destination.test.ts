import { execFileSync } from "node:child_process";
import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolveDestination } from "../../../src/core/images/destination.ts";
import { DEFAULT_TEMPLATE } from "../../../src/core/images/file-name.ts";

import { prepareDestination } from "../../../src/core/images/prepare-destination.ts";

import { UsageError } from "../../../src/lib/error-types.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { words } from "../../support/words.ts";

let pipes: string;

// All tests link to one named pipe: making one starts a program.
beforeAll(async () => {
  pipes = await mkdtemp(path.join(tmpdir(), "imggen-pipes-"));
  execFileSync("mkfifo", [path.join(pipes, "pipe")]);
});

afterAll(() => rm(pipes, { recursive: true }));

async function resolved(output: string | undefined, more: { name?: string; overwrite?: boolean } = {}) {
  const cwd = await temporaryFolder();
  await mkdir(path.join(cwd, "folder"));
  await writeFile(path.join(cwd, "taken.png"), "old");
  await symlink("nowhere", path.join(cwd, "dangling.png"));
  await symlink("taken.png", path.join(cwd, "link.png"));
  await symlink("folder", path.join(cwd, "link-to-folder"));
  await link(path.join(pipes, "pipe"), path.join(cwd, "pipe"));
  const before = await readdir(cwd, { recursive: true });
  try {
    return {
      cwd,
      destination: await resolveDestination({
        output,
        overwrite: false,
        resolvePath: (file) => path.resolve(cwd, file),
        ...more,
      }),
    };
  } finally {
    expect(await readdir(cwd, { recursive: true })).toEqual(before);
  }
}

describe("where images go", () => {
  it.each([undefined, ""])("without an output (%j) is the current folder", async (output) => {
    const { cwd, destination } = await resolved(output);
    expect(destination).toEqual({
      kind: "folder",
      folder: cwd,
      template: DEFAULT_TEMPLATE,
      overwrite: false,
    });
  });

  it.each(["folder", "folder/", "./folder", "link-to-folder", "new/", "a/b/c/", "."])(
    "with %j is a folder",
    async (output) => {
      const { cwd, destination } = await resolved(output, { name: "{slug}", overwrite: true });
      expect(destination).toEqual({
        kind: "folder",
        folder: path.resolve(cwd, output),
        template: "{slug}",
        overwrite: true,
      });
    },
  );

  it("with `-` is standard output", async () => {
    expect((await resolved("-")).destination).toMatchObject({ kind: "stdout", template: DEFAULT_TEMPLATE });
  });

  it.each(["new.png", "new", "a/b/new.png", "--.png", "./-"])(
    "with %j is exactly that file",
    async (output) => {
      const { cwd, destination } = await resolved(output);
      expect(destination).toEqual({ kind: "file", path: path.resolve(cwd, output), overwrite: false });
    },
  );

  it("with an absolute path is that one", async () => {
    expect((await resolved("/nowhere/new.png")).destination).toMatchObject({ path: "/nowhere/new.png" });
  });

  it.each(["taken.png", "link.png", "dangling.png", "pipe"])(
    "is refused where %s exists, before anything is spent",
    async (output) => {
      await expect(resolved(output)).rejects.toThrow(UsageError);
    },
  );

  it.each(["taken.png", "link.png", "new.png"])(
    "may be %s where overwriting is asked for",
    async (output) => {
      expect((await resolved(output, { overwrite: true })).destination).toMatchObject({ kind: "file" });
    },
  );

  it("is never a pipe, not even where overwriting is asked for", async () => {
    await expect(resolved("pipe", { overwrite: true })).rejects.toThrow("not a regular file");
  });

  it("is refused with a NUL in it, or a name of more than 255 bytes", async () => {
    await expect(resolved("a\0b.png")).rejects.toThrow(UsageError);
    await expect(resolved(`${"é".repeat(126)}.png`)).rejects.toThrow("255 bytes");
  });

  it("is refused where a name is given for a file, or makes no sense", async () => {
    await expect(resolved("new.png", { name: "{slug}" })).rejects.toMatchObject({
      hint: expect.stringContaining("--output new.png/"),
    });
    await expect(resolved("folder", { name: "{nope}" })).rejects.toThrow("{nope}");
    await expect(resolved("folder", { name: "a/b" })).rejects.toThrow(UsageError);
  });
});

describe("preparing the place", () => {
  it.each(["a/b/", "a/b/c.png"])("makes the folders of %s, and leaves nothing in them", async (output) => {
    const { cwd, destination } = await resolved(output);
    await prepareDestination(destination);
    expect(await readdir(path.join(cwd, "a", "b"))).toEqual([]);
  });

  it("leaves what is to be replaced as it is", async () => {
    const { cwd, destination } = await resolved("taken.png", { overwrite: true });
    await prepareDestination(destination);
    expect(await readFile(path.join(cwd, "taken.png"), "utf8")).toBe("old");
  });

  it("does nothing for standard output", async () => {
    const { cwd, destination } = await resolved("-");
    const before = await readdir(cwd);
    await prepareDestination(destination);
    expect(await readdir(cwd)).toEqual(before);
  });

  it("refuses a folder below a file: nothing was sent", async () => {
    const { destination } = await resolved("taken.png/below/");
    await expect(prepareDestination(destination)).rejects.toMatchObject({
      type: "save_failed",
      charged: "no",
      message: expect.stringContaining("ENOTDIR"),
    });
  });
});

describe("on Windows", () => {
  const onWindows = async (output: string) => {
    const cwd = await temporaryFolder();
    const resolvePath = (file: string) => path.resolve(cwd, file);
    return resolveDestination({ output, overwrite: false, resolvePath }, "win32");
  };

  it.each([
    ...words(`what?.png NUL.png nul a:b.png C:fox.png a|b.png pictures/<fox>/ COM1/fox.png fox.png.
    C:\\pictures\\fox*.png \\\\?\\C:\\aux.png LPT².png conout$`),
    'a"b.png',
    "fox.png ",
    "a\tb.png",
  ])("an output %j that no file can have there is refused before anything is sent", async (output) => {
    await expect(onWindows(output)).rejects.toThrow(UsageError);
    await expect(onWindows(output)).rejects.toThrow(/Windows/);
  });

  it.each(
    words(`fox.png C:\\pictures\\fox.png c:/pictures/ D:\\ ..\\fox.png ./pictures/../fox.png
    \\\\server\\share\\fox.png \\\\?\\C:\\fox.png null.png console.png com.png .fox.png`),
  )("an output %j is taken", async (output) => {
    expect(await onWindows(output)).toBeTruthy();
  });

  it.each(["what?.png", "NUL.png", "a:b.png"])("but not elsewhere: %j", async (output) => {
    const cwd = await temporaryFolder();
    for (const platform of ["linux", "darwin"] as const) {
      const wish = { output, overwrite: false, resolvePath: (file: string) => path.resolve(cwd, file) };
      expect(await resolveDestination(wish, platform)).toMatchObject({ path: path.join(cwd, output) });
    }
  });
});
