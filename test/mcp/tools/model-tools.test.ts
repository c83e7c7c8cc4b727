import { describe, expect, it } from "vitest";
import { FOX, sandboxAgent } from "../mcp-world.ts";

describe("what costs nothing", () => {
  it("is to list models, by what they can do", async () => {
    const { call } = await sandboxAgent();
    const { document } = await call("list_models", { kind: "edit", quality: "4K" });
    expect(document.models).toMatchObject([{ id: "vendor1/alpha-pro" }, { id: "gamma-image-2" }, {}]);
  });

  it("is to check a request, and learn its cost or what is wrong with it", async () => {
    const { call } = await sandboxAgent();
    expect((await call("estimate_cost", FOX)).document).toMatchObject({
      credits: 2,
      session: { credits: 0 },
    });
    const wrong = await call("estimate_cost", { prompt: "a fox", model: "z-image", ratio: "21:9" });
    expect(wrong).toMatchObject({
      isError: true,
      document: { error: { type: "invalid_request" }, charged: "no" },
    });
  });
});
