import { describe, expect, it } from "vitest";
import type { PricedRequest } from "../../src/core/limits/caps.ts";
import { SessionBudget } from "../../src/mcp/session-budget.ts";
import { highestCost } from "../../src/models/cost.ts";
import { MODELS } from "../../src/models/matrix.ts";
import { INTENT } from "../support/records.ts";
import { agent, FOX, mcpFolders, sandboxAgent } from "./mcp-world.ts";

const estimate = (credits: number | null) => ({ request: FOX, credits, warnings: [] });

/** A request of a call's task that is about to be submitted. */
const priced = (credits: number | null): PricedRequest => ({
  task: { id: "20260131T120000000-01234567", intent: { ...INTENT, request: FOX, credits }, parts: 1 },
  request: 0,
  credits,
});

describe("a session's budget", () => {
  it("counts a request before it is submitted, and takes it off if it was not charged", async () => {
    const budget = new SessionBudget(MODELS);
    expect(await budget.take(priced(2))).toBeNull();
    expect(budget.costs.credits).toBe(2);
    await budget.giveBack(priced(2));
    expect(budget.costs).toEqual({ maxCredits: 20, credits: 0, undocumentedRequests: 0 });
  });

  it("counts a request of undocumented cost as the highest documented one, once that is allowed for its model", async () => {
    const budget = new SessionBudget(MODELS);
    expect(await budget.take(priced(null))).toMatchObject({ type: "budget_exceeded" });
    budget.check(estimate(null), true);
    expect(await budget.take(priced(null))).toBeNull();
    expect(budget.costs).toMatchObject({ credits: highestCost(MODELS), undocumentedRequests: 1 });
  });

  it("allows what reaches the cap, and refuses what exceeds it, before anything is recorded and before the submit", async () => {
    const budget = new SessionBudget(MODELS, 5);
    await budget.take(priced(3));
    expect(() => budget.check(estimate(2), false)).not.toThrow();
    const refusal = "This session has spent 3 of 5 credits, and this request counts as 3.";
    expect(() => budget.check(estimate(3), false)).toThrow(refusal);
    expect(await budget.take(priced(3))).toMatchObject({ message: refusal });
    expect(await budget.take(priced(2))).toBeNull();
    expect(budget.costs.credits).toBe(5);
  });

  it("needs a word of its own for an undocumented cost, or a cap above the default", () => {
    const check = (cap: number, isAllowed: boolean) => () =>
      new SessionBudget(MODELS, cap).check(estimate(null), isAllowed);
    expect(check(20, false)).toThrow("The cost of gamma-image-2 is not documented.");
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

  it("which counts nothing of the embedded sandbox", async () => {
    const flags = ["--sandbox", "--max-credits", "0"];
    const { call } = await agent({ ...(await mcpFolders()), flags });
    const { document } = await call("generate_image", FOX);
    expect(document).toMatchObject({ ok: true, credits: 0, charged: "no", session: { credits: 0 } });
    expect((await call("history")).document.tasks).toMatchObject([{ credits: 0, charged: "no" }]);
  });

  it("and a generator without prices is told how to give it some", async () => {
    const flags = ["--generator", "http://127.0.0.1:9", "--generator-paid", "--generator-model", "flux"];
    const { call } = await agent({ ...(await mcpFolders()), flags });
    const { document } = await call("generate_image", { prompt: FOX.prompt });
    expect(document.error).toMatchObject({
      type: "budget_exceeded",
      hint: "Nothing was sent. To submit the request anyway, pass allowUndocumentedCost: true. The request then counts as 8 credits.\nTo set the price, in credits per image, for all requests to the configured generator: ask the user to run imggen config set price 4.",
    });
  });

  it("which the user sets", async () => {
    const { call } = await sandboxAgent(["--max-credits", "1"]);
    const { document } = await call("generate_image", FOX);
    expect(document).toMatchObject({ ok: false, charged: "no", session: { maxCredits: 1, credits: 0 } });
  });
});
