import { readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { generateOrReuse, reuseEarlier } from "../../../src/core/use-cases/reuse.ts";
import { StateFolderError } from "../../../src/store/store-errors.ts";
import { png } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { taskWorld } from "../../support/task-world.ts";
import { type WorkOptions, workWorld } from "../task/work-world.ts";

it("a request whose claim cannot be read after it is begun is withdrawn, not sent and not unknown", async () => {
  const server = await liveService(png());
  const { deps, destination, stateFolder } = await taskWorld(server.baseUrl);
  const { ledger } = deps;
  ledger.alone = (_intent, work) =>
    work(async () => {
      throw new StateFolderError(ledger.folder, "EIO", { hint: "Nothing was sent." });
    });
  const request = { prompt: "a fox", model: "gamma-image-2" };
  const checked = { request, credits: 2, warnings: [] };
  await expect(generateOrReuse({ checked, destination, wait: null }, deps)).rejects.toThrow(StateFolderError);
  expect(await ledger.unfinished()).toEqual([]);
  expect(server.requests).toEqual([]);
  expect(await readdir(path.join(stateFolder, "tasks/open"))).toEqual([]);
});

/** A task whose image is saved, and where its request is asked for again. */
async function savedTask(options: WorkOptions, url?: string) {
  const world = await workWorld(options);
  if (url !== undefined) Object.assign(world.provider, { images: async () => [{ kind: "url", url }] });
  const [file] = (await world.generate()).files;
  if (!file?.path) throw new Error("not saved");
  const copy = path.join(world.output, "copy.png");
  const destination = { kind: "file", path: copy, overwrite: false } as const;
  const wait = { timeoutMs: null, schedule: null };
  const again = () => reuseEarlier({ prompt: "a fox", model: "flux" }, { destination, wait }, world.deps);
  return { ...world, image: file.path, copy, again };
}

describe("an image of the user's own generator that is reused under another name", () => {
  it("has cost what it did: nothing, if the generator is free", async () => {
    for (const isPaid of [true, false]) {
      const { again, copy, provider } = await savedTask({ work: { isPaid } });
      const report = { charged: isPaid ? "yes" : "no", error: null, files: [{ path: copy }], reused: true };
      expect(await again()).toMatchObject(report);
      expect(provider.jobs).toHaveLength(1);
    }
  });

  it("is downloaded from its URL where its file is gone, without a poll", async () => {
    const server = await liveService(png());
    const { again, copy, image, provider } = await savedTask({}, `${server.origin}/1.png`);
    await rm(image);
    expect(await again()).toMatchObject({ error: null, files: [{ path: copy }] });
    expect(await readFile(copy)).toEqual(png());
    expect(provider.jobs).toHaveLength(1);
  });
});
