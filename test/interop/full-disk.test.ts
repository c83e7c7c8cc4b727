import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { APIError } from "openai";
import { describe, expect, it } from "vitest";
import { scriptedProvider } from "../serve/provider-script.ts";
import { fillDisk, PAGE_BYTES, tinyDisk } from "../support/tiny-disk.ts";
import { failure, withOpenAi } from "./openai-client.ts";

const PAID = { options: { isPaid: true } };
const PROMPT = "an image that is made before";
const FOX = { prompt: "a fox" };

/** A server on a disk of its own. @param isUsed whether it has made an image, so that its tasks have a reserve there */
async function serverOn(folder: string, isUsed: boolean) {
  const provider = scriptedProvider();
  const server = await withOpenAi({ folder, provider, ...PAID });
  if (isUsed) await server.openai.images.generate({ prompt: PROMPT });
  const before = provider.jobs.length;
  return { ...server, provider, sent: () => provider.jobs.length - before };
}

describe.for([
  ["that was full from the beginning", false],
  ["that is full by now", true],
] as const)("a disk %s", ([_when, isUsed]) => {
  it.for([undefined, { "Idempotency-Key": "k" }, { "X-Stainless-Retry-Count": "1" }])(
    "is HTTP 503, nothing is sent, and the same request works once there is room (%j)",
    async (headers, test) => {
      const folder = tinyDisk(1024);
      if (folder === null) return test.skip("needs permission to mount");
      const { openai, ledger, sent } = await serverOn(folder, isUsed);
      const ask = () => openai.images.generate(FOX, { ...(headers && { headers }), maxRetries: 0 });
      const free = fillDisk(folder);
      for (const _each of [1, 2]) expect(await failure(ask())).toMatchObject({ status: 503, code: "disk" });
      expect(sent()).toBe(0);
      free();
      expect(await ledger.unfinished()).toEqual([]);
      expect((await ask()).data).toHaveLength(1);
      expect(sent()).toBe(1);
    },
  );
});

it("a disk that fills up between two lines of a record is HTTP 503, unless the request was sent", async (test) => {
  const folder = tinyDisk(4096);
  if (folder === null) return test.skip("needs permission to mount");
  const { openai, ledger, provider } = await serverOn(folder, true);
  const intentBytes = await bytesOfIntent(folder);
  const seen = new Set<string>();
  for (const pages of [2, 3, 4])
    for (const room of [5, 80, 160, 240, 300]) {
      // The intent ends so many bytes before the end of a page: later lines need the next one.
      const prompt = "x".repeat(PROMPT.length + PAGE_BYTES - intentBytes - room);
      const [before, open, free] = [provider.jobs.length, await ledger.unfinished(), fillDisk(folder, pages)];
      const { status } = await openai.images.generate({ prompt }, { maxRetries: 0 }).then(
        () => ({ status: 200 }),
        (error: APIError) => error,
      );
      free();
      // It takes its turn after all that is still to be sent, and has a reserve on the disk again.
      await openai.images.generate({ prompt: PROMPT });
      const sent = provider.jobs.length - before - 1;
      expect({ status, sent }).toEqual({ status, sent: status === 503 ? 0 : 1 });
      expect((await ledger.unfinished()).length - open.length).toBe(status === 422 ? 1 : 0);
      seen.add(String(status));
    }
  expect(seen).toEqual(new Set(["200", "422", "503"]));
});

/** Length of the first line of the only finished task. */
async function bytesOfIntent(folder: string): Promise<number> {
  const done = path.join(folder, "tasks", "done");
  const [name = ""] = (await readdir(done, { recursive: true })).filter((each) => each.endsWith(".jsonl"));
  return (await readFile(path.join(done, name))).indexOf("\n") + 1;
}
