import { expect, it } from "vitest";
import { answers } from "../../support/doubles/double.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { paidService } from "../../support/paid-service.ts";
import { inTurn } from "../../support/scripts.ts";

const busy = answers(() => REPLICATE.error(429, "slow down", { "retry-after": "60" }));

it.each(["submit", "poll"] as const)(
  "a stated wait at a %s is waited out where --timeout allows it",
  async (part) => {
    const usual = answers(REPLICATE.replies[part] ?? (() => Buffer.alloc(0)));
    const { json, generate, double } = await paidService(REPLICATE, { [part]: inTurn(busy, usual) });
    expect(await json([...generate, "--timeout", "120s"])).toMatchObject({ code: 0 });
    expect(double.submits()).toHaveLength(part === "submit" ? 2 : 1);
  },
);

it.each(["submit", "poll"] as const)(
  "a stated wait at a %s that is longer than --timeout is not waited for",
  async (part) => {
    const { json, generate } = await paidService(REPLICATE, { [part]: busy });
    expect(await json([...generate, "--timeout", "30s"])).toMatchObject({ code: part === "poll" ? 6 : 5 });
  },
);
