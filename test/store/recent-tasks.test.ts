import { describe, expect, it } from "vitest";
import type { Line } from "../../src/task/line.ts";
import { ledgerWorld, leftTask } from "../support/ledger-world.ts";
import { INTENT, LINES } from "../support/records.ts";

const { accepted, completed, saved } = LINES;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe("the latest tasks of one kind", () => {
  const kind = { model: "gamma-image-2" };
  const end: Line[] = [accepted, completed, saved];

  it("are those of the same model, quality and service, oldest first", async () => {
    const { ledger, clock } = await ledgerWorld();
    const request = (prompt: string, quality?: string) => ({
      request: { ...INTENT.request, prompt, ...(quality !== undefined && { quality }) },
    });
    await leftTask(ledger, request("first"), ...end);
    clock.advance(2 * MINUTE);
    await leftTask(ledger, request("of 2K", "2K"), ...end);
    await leftTask(ledger, { request: { prompt: "of another model", model: "z-image" } }, ...end);
    await leftTask(ledger, { service: { ...INTENT.service, baseUrl: "https://other.example/api" } }, ...end);
    clock.advance(DAY);
    await leftTask(ledger, request("second"), ...end);
    const prompts = async (quality?: string) => {
      const wanted = { ...kind, ...(quality !== undefined && { quality }) };
      const records = await ledger.recentSimilarTasks(wanted, INTENT.service);
      return records.map(({ intent }) => intent.request.prompt);
    };
    expect(await prompts()).toEqual(["first", "second"]);
    expect(await prompts("2K")).toEqual(["of 2K"]);
    expect(await prompts("4K")).toEqual([]);
  });

  it("are of any key: how long a task takes is not the key's doing", async () => {
    const { ledger } = await ledgerWorld();
    await leftTask(ledger, { service: { ...INTENT.service, keyId: "fedcba9876543210" } }, ...end);
    expect(await ledger.recentSimilarTasks(kind, INTENT.service)).toHaveLength(1);
  });

  it("are 50 at the most, the newest, and none that is unfinished", async () => {
    const { ledger, clock } = await ledgerWorld();
    for (let each = 0; each < 55; each++) {
      await leftTask(ledger, { credits: each }, ...end);
      clock.advance(each % 10 === 0 ? MINUTE : 1);
    }
    await leftTask(ledger, { credits: 99 }, accepted);
    const credits = (await ledger.recentSimilarTasks(kind, INTENT.service)).map(
      ({ intent }) => intent.credits,
    );
    expect(credits).toEqual(Array.from({ length: 50 }, (_, index) => index + 5));
  });
});
