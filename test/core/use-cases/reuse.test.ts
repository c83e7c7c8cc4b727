import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { generateOrReuse } from "../../../src/core/use-cases/reuse.ts";
import { StateFolderError } from "../../../src/store/errors.ts";
import { png } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { taskWorld } from "../../support/task-world.ts";

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
