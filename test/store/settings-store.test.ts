import { chmod, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { newLease } from "../../src/lib/lease.ts";
import { Tickets } from "../../src/lib/tickets.ts";
import { SettingsStore } from "../../src/store/settings-store.ts";
import { SETTING_NAMES } from "../../src/store/settings-table.ts";
import { SettingsError } from "../../src/store/store-errors.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tinyDisk } from "../support/tiny-disk.ts";
import { pause } from "../support/wait.ts";

const self = someProcesses(1).as(1);

/** A store whose file holds this text already. */
async function storeWith(text: string | Buffer | null) {
  const folder = path.join(await temporaryFolder(), "config");
  const store = new SettingsStore(folder, self);
  await mkdir(folder, { mode: 0o700 });
  if (text !== null) await writeFile(store.file, text, { mode: 0o600 });
  return { folder, store, read: () => readFile(store.file, "utf8") };
}

const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

describe("reading settings", () => {
  it.each([
    ["no file", null, {}],
    ["an empty file", "", {}],
    ["blanks", " \n\t", {}],
    ["a byte-order mark alone", "\uFEFF", {}],
    ["an object", '{"model":"z-image","timeout":"90s"}', { model: "z-image", timeout: "90s" }],
    ["an object after a byte-order mark", '\uFEFF{"model":"z-image"}', { model: "z-image" }],
    ["names that this release does not know", '{"model":"z-image","later":{"a":1}}', { model: "z-image" }],
    ["a prototype", '{"__proto__":{"apiKey":"sk-x"}}', {}],
  ])("takes %s", async (_what, text, settings) => {
    expect(await (await storeWith(text)).store.read()).toEqual(settings);
  });

  it("finds none where there is not even a folder", async () => {
    const folder = await temporaryFolder();
    expect(await new SettingsStore(path.join(folder, "none"), self).read()).toEqual({});
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    "{",
    "null",
    "[]",
    '"text"',
    "7",
    '{"model":[]}',
    '{"apiKey":null}',
    "\0\0\0\0",
    '{"a":1}{"b":2}',
  ])("refuses the damaged file %j, names it, and keeps it byte for byte", async (text) => {
    const { store, read } = await storeWith(text);
    await expect(store.read()).rejects.toMatchObject({
      type: "usage",
      message: expect.stringContaining(store.file),
    });
    await expect(store.update({ model: "z-image" })).rejects.toBeInstanceOf(SettingsError);
    expect(await read()).toBe(text);
  });

  it("refuses a folder in the file's place, and says so", async () => {
    const { store } = await storeWith(null);
    await mkdir(store.file);
    await expect(store.read()).rejects.toMatchObject({
      type: "usage",
      message: expect.stringContaining("it is a folder"),
    });
  });

  const modes = [0o644, 0o666, 0o640, 0o777, 0o400];
  it.each(modes)("narrows a file of mode %o to its owner, and does not widen it", async (mode) => {
    const { store, folder } = await storeWith("{}");
    await chmod(store.file, mode);
    await chmod(folder, 0o755);
    await store.read();
    expect([await modeOf(store.file), await modeOf(folder)]).toEqual([mode & 0o600, 0o700]);
  });
});

describe("changing settings", () => {
  it("makes the file and its folder, for their owner only, with nothing else in it", async () => {
    const folder = path.join(await temporaryFolder(), "a", "config");
    const store = new SettingsStore(folder, self);
    const account = { apiKey: "sk-1", baseUrl: "https://api.example/api" };
    await store.update(account);
    expect(await store.read()).toEqual({ ...account, apiKeyBaseUrl: account.baseUrl });
    expect(await modeOf(store.file)).toBe(0o600);
    expect(await modeOf(folder)).toBe(0o700);
    expect(await readdir(folder)).toEqual(["config.json"]);
  });

  it("sets, replaces and removes, and leaves the rest, names that this release does not know too", async () => {
    const { store, read } = await storeWith('{"model":"z-image","ratio":"1:1","later":{"a":[1]}}');
    await store.update({ model: "gamma-image-2", ratio: undefined, quality: "2K" });
    expect(JSON.parse(await read())).toEqual({ model: "gamma-image-2", later: { a: [1] }, quality: "2K" });
  });

  it("removes what killed processes left beside the settings, and nothing else", async () => {
    const { folder, store } = await storeWith('{"model":"z-image"}');
    const kept = ["config.json.bak", "config.json.tmp-mine", "other.json.tmp-1234567890abcdef"];
    const left = ["config.json.probe", "config.json.tmp-1234567890abcdef"];
    for (const name of [...kept, ...left]) await writeFile(path.join(folder, name), "sk-1");
    expect(await store.removeLeftovers()).toBe(true);
    expect((await readdir(folder)).sort()).toEqual(["config.json", ...kept].sort());
    expect(await store.removeLeftovers()).toBe(false);
  });

  it("removes them where the settings file is a link, too", async () => {
    const { folder, store } = await storeWith(null);
    const elsewhere = path.join(path.dirname(folder), "elsewhere");
    await mkdir(elsewhere);
    await writeFile(path.join(elsewhere, "mine.json"), '{"model":"z-image"}');
    await writeFile(path.join(elsewhere, "mine.json.tmp-1234567890abcdef"), "sk-1");
    await symlink(path.join(elsewhere, "mine.json"), store.file);
    await store.update({ quality: "2K" });
    expect(await readdir(elsewhere)).toEqual(["mine.json"]);
  });

  it("leaves them to a process that is writing the settings", async () => {
    const processes = someProcesses(1, 2);
    const { folder } = await storeWith('{"model":"z-image"}');
    const [first, second] = [processes.as(1), processes.as(2)];
    const ticket = await new Tickets(folder, first, systemClock).take("config", 60_000);
    if (Array.isArray(ticket)) throw new Error("nobody else can have it");
    await writeFile(path.join(folder, "config.json.tmp-1234567890abcdef"), "sk-1");
    const removal = new SettingsStore(folder, second).removeLeftovers();
    await pause(100);
    expect(await readdir(folder)).toContain("config.json.tmp-1234567890abcdef");
    ticket.release();
    expect(await removal).toBe(true);
    expect(await readdir(folder)).toEqual(["config.json"]);
  });

  it.each(["a.b.c", "é ü 漢", '"quoted"\\', "__proto__", "x".repeat(5000)])(
    "keeps the value %j",
    async (value) => {
      const { store } = await storeWith(null);
      await store.update({ output: value });
      expect(await store.read()).toEqual({ output: value });
    },
  );

  it("loses none of many changes at once", async () => {
    const { store } = await storeWith(null);
    await Promise.all(SETTING_NAMES.map((name) => store.update({ [name]: `${name}-value` })));
    expect(await store.read()).toMatchObject(
      Object.fromEntries(SETTING_NAMES.map((name) => [name, `${name}-value`])),
    );
  });

  it("gets its turn after a process that was killed in the middle of its own", async () => {
    const { folder, store } = await storeWith("{}");
    const left = path.join(folder, "config..0123abcd");
    await writeFile(left, JSON.stringify(newLease(identity(99), 10_000, Date.now())));
    await utimes(left, 1, 1);
    await store.update({ model: "z-image" });
    expect(await store.read()).toEqual({ model: "z-image" });
    expect(await readdir(folder)).toEqual(["config.json"]);
  });

  it("that do not fit on the disk are refused, and the old ones stay", async ({ skip }) => {
    const disk = tinyDisk(20);
    if (disk === null) return skip("needs permission to mount");
    const store = new SettingsStore(disk, self);
    await store.update({ model: "z-image" });
    const before = await readFile(store.file, "utf8");
    await writeFile(path.join(disk, "filler"), Buffer.alloc(8192)).catch(() => {});
    await expect(store.update({ output: "x".repeat(6000) })).rejects.toMatchObject({ type: "save_failed" });
    expect(await readFile(store.file, "utf8")).toBe(before);
  });

  it("below a file are refused with what is wrong", async () => {
    const file = path.join(await temporaryFolder(), "file");
    await writeFile(file, "");
    const store = new SettingsStore(path.join(file, "config"), self);
    await expect(store.update({ model: "z-image" })).rejects.toMatchObject({ type: "save_failed" });
  });
});
