import { readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { UploadCache } from "../../src/store/uploads.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const KEY = { sha256: "ab", command: "up {file}" };
const [A, B] = ["https://cdn.example/a.png", "https://cdn.example/b.png"];

it("remembers a URL for these bytes and this command, for its owner's eyes alone", async () => {
  const state = await temporaryFolder();
  const cache = new UploadCache(state);
  expect(await cache.find(KEY)).toBeNull();
  expect(await cache.record(KEY, A, null)).toBe(A);
  expect(await new UploadCache(state).find(KEY)).toBe(A);
  expect(await cache.find({ ...KEY, sha256: "cd" })).toBeNull();
  expect(await cache.find({ ...KEY, command: "other {file}" })).toBeNull();
  const folder = path.join(state, "uploads");
  const [name = ""] = await readdir(folder);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
});

it("gives all of several processes the URL of the first, and loses none of other files", async () => {
  const state = await temporaryFolder();
  const urls = Array.from({ length: 20 }, (_, at) => `https://cdn.example/${at}.png`);
  const counted = await Promise.all(urls.map((url) => new UploadCache(state).record(KEY, url, null)));
  expect(new Set(counted).size).toBe(1);
  expect(await new UploadCache(state).find(KEY)).toBe(counted[0]);
  await Promise.all(urls.map((url) => new UploadCache(state).record({ ...KEY, sha256: url }, url, null)));
  for (const url of urls) expect(await new UploadCache(state).find({ ...KEY, sha256: url })).toBe(url);
});

it("replaces the URL that the caller knew of, and no newer one", async () => {
  const cache = new UploadCache(await temporaryFolder());
  await cache.record(KEY, A, null);
  expect(await cache.record(KEY, B, A)).toBe(B);
  expect(await cache.record(KEY, "https://cdn.example/c.png", A)).toBe(B);
  expect(await cache.find(KEY)).toBe(B);
});

it("gives no other process a URL with a query, which may be a signature that expires", async () => {
  const cache = new UploadCache(await temporaryFolder());
  const [signed, other] = [`${A}?signature=a`, `${A}?signature=b`];
  expect(await cache.record(KEY, signed, null)).toBe(signed);
  expect(await cache.record(KEY, other, null)).toBe(other);
  expect(await cache.find(KEY)).toBe(other);
});

it.each(["", "{", "null", '{"url":1}'])(
  "takes a damaged record (%j) for none, and replaces it",
  async (text) => {
    const state = await temporaryFolder();
    const cache = new UploadCache(state);
    await cache.record(KEY, A, null);
    const [name = ""] = await readdir(path.join(state, "uploads"));
    await writeFile(path.join(state, "uploads", name), text);
    expect(await cache.find(KEY)).toBeNull();
    expect(await cache.record(KEY, B, null)).toBe(B);
    expect(await cache.find(KEY)).toBe(B);
  },
);

it("says that the state folder cannot be used, and that nothing was sent", async () => {
  const state = await temporaryFolder();
  await writeFile(path.join(state, "uploads"), "");
  await expect(new UploadCache(state).record(KEY, A, null)).rejects.toMatchObject({
    type: "save_failed",
    hint: "Nothing was sent.",
  });
});
