import { describe, expect, it } from "vitest";
import type { TaskSuccess } from "../../src/client/results.ts";
import { SessionBudget } from "../../src/mcp/session-budget.ts";
import { highestCost } from "../../src/models/cost.ts";
import { MODELS } from "../../src/models/matrix.ts";
import { agent, FOX, mcpFolders, sandboxAgent } from "./mcp-world.ts";
import { failed, SAVED } from "./task-ends.ts";

const estimate = (credits: number | null) => ({ request: FOX, credits, warnings: [] });

/** What a budget has counted after one request that ended so. */
async function spentOn(end: TaskSuccess | Error, credits: number | null = 2) {
  const budget = new SessionBudget(MODELS);
  const submit = async () => {
    if (end instanceof Error) throw end;
    return end;
  };
  const ended = await budget.spend(estimate(credits), true, submit).catch((error: unknown) => error);
  expect(ended).toBe(end);
  return budget.costs.credits;
}

describe("a session's budget", () => {
  it.each<[string, number, TaskSuccess | Error]>([
    ["that was charged", 2, SAVED],
    ["that an earlier task answers", 0, { ...SAVED, reused: true }],
    ["that was not charged", 0, failed({ charged: "no" })],
    ["whose outcome is unknown", 2, failed({ charged: "unknown" })],
    ["that failed after it was charged", 2, failed({ charged: "yes" })],
    ["that an earlier task failed for", 0, failed({ charged: "yes", reused: true })],
    ["that ended in a way that nobody foresaw", 2, new Error("odd")],
  ])("of a request %s counts %d credits", async (_what, credits, end) => {
    expect(await spentOn(end)).toBe(credits);
  });

  it("counts a request of undocumented cost as the highest documented one", async () => {
    expect(await spentOn(SAVED, null)).toBe(highestCost(MODELS));
  });

  it("allows what reaches the cap, and refuses what exceeds it", async () => {
    const budget = new SessionBudget(MODELS, 5);
    await budget.spend(estimate(3), false, async () => SAVED);
    expect(() => budget.check(estimate(2), false)).not.toThrow();
    expect(() => budget.check(estimate(3), false)).toThrow(
      "This session has spent 3 of 5 credits, and this request counts as 3.",
    );
  });

  it("needs a word of its own for an undocumented cost, or a cap above the default", () => {
    const check = (cap: number, isAllowed: boolean) => () =>
      new SessionBudget(MODELS, cap).check(estimate(null), isAllowed);
    expect(check(20, false)).toThrow("What gamma-image-2 costs is not documented.");
    expect(check(20, true)).not.toThrow();
    expect(check(21, false)).not.toThrow();
  });
});

describe("an agent's mistakes cost no more than the session's cap", () => {
  it("which is 20 credits by default, of calls at once too", async () => {
    const { call } = await sandboxAgent();
    const prompts = ["1", "2", "3"].map((prompt) =>
      call("generate_image", { ...FOX, quality: "4K", prompt: `${FOX.prompt} ${prompt}` }),
    );
    const answers = await Promise.all(prompts);
    const refused = answers.filter(({ isError }) => isError);
    expect(refused).toMatchObject([{ document: { charged: "no", error: { type: "budget_exceeded" } } }]);
    expect((await call("list_models")).document.session).toMatchObject({ credits: 16 });
  });

  it("and a cost that is not documented is told with those that are", async () => {
    const { call } = await sandboxAgent();
    const request = { prompt: FOX.prompt };
    expect((await call("generate_image", request)).document.error).toMatchObject({
      type: "budget_exceeded",
      hint: expect.stringContaining("Documented costs: gamma-image-2 (2 to 8 credits), "),
    });
    const allowed = await call("generate_image", { ...request, allowUndocumentedCost: true });
    expect(allowed.document).toMatchObject({
      credits: null,
      session: { credits: highestCost(MODELS), undocumentedRequests: 1 },
    });
  });

  it("and a generator without prices is told how to give it some", async () => {
    const flags = ["--generator", "http://127.0.0.1:9", "--generator-paid", "--generator-model", "flux"];
    const { call } = await agent({ ...(await mcpFolders()), flags });
    const { document } = await call("generate_image", { prompt: FOX.prompt });
    expect(document.error).toMatchObject({
      type: "budget_exceeded",
      hint: "Nothing was sent. Add its price to your matrix file, or pass allowUndocumentedCost: true; it then counts as 8 credits.",
    });
  });

  it("which the user sets", async () => {
    const { call } = await sandboxAgent(["--max-credits", "1"]);
    const { document } = await call("generate_image", FOX);
    expect(document).toMatchObject({ ok: false, charged: "no", session: { maxCredits: 1, credits: 0 } });
  });
});
