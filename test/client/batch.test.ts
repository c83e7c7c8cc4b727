import { describe, expect, it } from "vitest";
import type { BatchRow } from "../../src/client/index.ts";
import { accepts, imagesIn } from "../support/batch-world.ts";
import { runCommand } from "../support/in-process.ts";
import { late } from "../support/scripts.ts";
import { pause } from "../support/wait.ts";
import { clientWorld, failureOf } from "./client-world.ts";

const PRICED = { model: "gamma-image-2", quality: "1K", pollIntervalMs: 100 } as const;
const foxes = (count: number) => Array.from({ length: count }, (_, index) => ({ prompt: `fox ${index}` }));

async function taken(rows: AsyncIterable<BatchRow>): Promise<BatchRow[]> {
  const all: BatchRow[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

describe("a client's batch", () => {
  it("reports each row as it ends, and then the whole; the same rows again cost nothing", async () => {
    const { client, output, server } = await clientWorld();
    const imggen = client();
    const batch = imggen.batch(foxes(5), { ...PRICED, output, maxCredits: 10, concurrency: 2 });
    expect(batch.summary).toBeNull();
    const rows = await taken(batch);
    expect(rows.map(({ row }) => row).sort()).toEqual([1, 2, 3, 4, 5]);
    for (const row of rows) expect(row).toMatchObject({ ok: true, status: "completed", credits: 2 });
    expect(batch.summary).toMatchObject({ type: "summary", rows: 5, saved: 5, failed: 0, credits: 10 });
    const again = imggen.batch(foxes(5), { ...PRICED, output, maxCredits: 10 });
    for (const row of await taken(again)) expect(row).toMatchObject({ ok: true, skipped: true });
    expect(again.summary).toMatchObject({ skipped: 5, credits: 0, creditsBefore: 10 });
    expect(server.submits()).toHaveLength(5);
  });

  it("is the command line's batch of the same rows and folder", async () => {
    const { client, output, server, home } = await clientWorld();
    await taken(client().batch(foxes(3), { ...PRICED, output }));
    const env = { IMGGEN_BASE_URL: server.baseUrl, IMGGEN_API_KEY: "sk-canary" };
    const input = foxes(3).map((row) => JSON.stringify(row));
    const args = ["batch", "-", "-m", PRICED.model, "-q", "1K", "-o", output, "--json"];
    const { stdout } = await runCommand(args, { home, env, input: `${input.join("\n")}\n` });
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ rows: 3, skipped: 3 });
    expect(server.submits()).toHaveLength(3);
  });

  it("takes rows from an async iterable, each with its own values and name", async () => {
    const { client, output } = await clientWorld();
    async function* rows() {
      yield { prompt: "a fox", output: "fox.png" };
      yield { prompt: "an owl", output: "birds/owl.png", quality: "2K" };
    }
    const batch = client().batch(rows(), { ...PRICED, output });
    const credits = (await taken(batch)).map((row) => row.ok && row.credits);
    expect(credits.sort()).toEqual([2, 4]);
    expect(await imagesIn(output)).toEqual(expect.arrayContaining(["fox.png"]));
  });

  it("sends nothing where a row is wrong, and names every such row", async () => {
    const { client, output, server } = await clientWorld();
    const rows = [
      { prompt: "a fox" },
      { prompt: 3 },
      { prompt: "an owl", qualty: "2K" },
      null,
      1n,
      { prompt: "a hare", seed: undefined },
    ] as never[];
    const { error, charged } = await failureOf(taken(client().batch(rows, { ...PRICED, output })));
    expect(charged).toBe("no");
    expect(error.type).toBe("invalid_request");
    expect(error.problems?.map(({ line }) => line)).toEqual([2, 3, 4, 5]);
    expect(server.requests).toEqual([]);
  });

  it.each([
    ["its own budget", { maxCredits: 5 }],
    ["what was not agreed to", {}],
  ])("sends nothing beyond %s", async (_what, options) => {
    const { client, output, server, home } = await clientWorld();
    await runCommand(["config", "set", "confirmAbove", "5"], { home });
    const { error } = await failureOf(taken(client().batch(foxes(3), { ...PRICED, output, ...options })));
    expect(error.type).toBe("budget_exceeded");
    expect(server.submits()).toEqual([]);
    expect(await taken(client().batch(foxes(3), { ...PRICED, output, yes: true }))).toHaveLength(3);
  });

  it("is stopped by leaving the loop: what is charged is on disk, and the same rows resume it", async () => {
    const { client, output, server } = await clientWorld({ submit: late(20, accepts) });
    const imggen = client();
    for await (const row of imggen.batch(foxes(20), { ...PRICED, output, concurrency: 2 })) {
      expect(row.ok).toBe(true);
      break;
    }
    const charged = server.submits().length;
    expect(charged).toBeLessThan(20);
    const rest = imggen.batch(foxes(20), { ...PRICED, output });
    await taken(rest);
    expect(rest.summary).toMatchObject({ rows: 20, failed: 0, unknown: 0 });
    expect(server.submits()).toHaveLength(20);
  });

  it("ends with the call's failure where its signal comes, after the rows that were in flight", async () => {
    const { client, output, server } = await clientWorld({ submit: late(20, accepts) });
    const leaving = new AbortController();
    const { signal } = leaving;
    const rows: BatchRow[] = [];
    const batch = client().batch(foxes(20), { ...PRICED, output, concurrency: 2, signal });
    const stopped = (async () => {
      for await (const row of batch) {
        rows.push(row);
        leaving.abort();
      }
    })();
    expect((await failureOf(stopped)).error.type).toBe("interrupted");
    expect(server.submits().length).toBeLessThan(20);
    expect(rows.length).toBeGreaterThan(0);
  });

  it("goes on no faster than its rows are taken", async () => {
    const { client, output, server } = await clientWorld();
    const rows = client()
      .batch(foxes(10), { ...PRICED, output, concurrency: 1 })
      [Symbol.asyncIterator]();
    await rows.next();
    await pause(300);
    expect(server.submits().length).toBeLessThanOrEqual(3);
    await rows.return?.();
  });
});
