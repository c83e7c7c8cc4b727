import { expect, it } from "vitest";
import { type Automatic1111Options, automatic1111 } from "../../support/automatic1111.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";

/** Commands whose generator is a server with AUTOMATIC1111's API. */
async function atServer(options: Automatic1111Options = {}) {
  const server = await automatic1111(options);
  const world = await commandWorld({}, { IMGGEN_GENERATOR: server.spec, ...NO_ACCOUNT });
  return { ...world, server };
}

it("a request that names no model is made with the one that is loaded, under the name that models lists", async () => {
  const { json, run, server } = await atServer();
  const { code, document } = await json(["generate", "a fox", "--sidecar"]);
  expect({ code, request: document.request }).toEqual({
    code: 0,
    request: { prompt: "a fox", model: "paint" },
  });
  expect(server.bodies()).toEqual([{ prompt: "a fox", width: 1024, height: 1024 }]);
  expect((await json(["history"])).document).toMatchObject([{ request: { model: "paint" } }]);
  expect((await run(["models"])).stderr).toBe(
    "Without --model, the generator uses the model that is already loaded: paint\n",
  );
});

it("a model that is named is loaded first, unless it is", async () => {
  const { run, server } = await atServer();
  await run(["generate", "a fox", "--model", "dream"]);
  expect(server.bodies()[0]).toMatchObject({ override_settings: { sd_model_checkpoint: "dream" } });
  await run(["generate", "a fox", "--model", "paint"]);
  expect(server.bodies()[1]).not.toHaveProperty("override_settings");
});

it.each<[string, Automatic1111Options, string]>([
  ["of the only one, its name", { models: ["z-image"], loaded: null }, "z-image"],
  ["of several, none", { loaded: null }, "default"],
  ["of one that is not in its list, that one's name", { loaded: "new.safetensors" }, "new.safetensors"],
  ["of a name without an end, none", { loaded: "x".repeat(10_000) }, "default"],
])("where the server does not say what is loaded, the task has %s", async (_what, options, model) => {
  const { json, server } = await atServer(options);
  const { code, document } = await json(["generate", "a fox"]);
  expect({ code, model: document.request?.model }).toEqual({ code: 0, model });
  if (model === "default") expect(server.bodies()[0]).not.toHaveProperty("override_settings");
});

it("a dry run opens no connection", async () => {
  const { run, server } = await atServer();
  expect((await run(["generate", "a fox", "--dry-run"])).code).toBe(0);
  expect(server.requests).toEqual([]);
});
