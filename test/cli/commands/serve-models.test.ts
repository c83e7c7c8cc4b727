import { writeFile } from "node:fs/promises";
import path from "node:path";
import { request } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { clientOf } from "../../sandbox/live.ts";
import { comfyDouble, workflow } from "../../support/comfyui.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";

type World = Awaited<ReturnType<typeof commandWorld>>;

/** The models of `imggen serve`, and a client of it, until the test is over. */
async function served(world: World, flags: readonly string[] = []) {
  const stop = new AbortController();
  const said = await new Promise<string>((onStdout) => {
    const run = world.run(["serve", "--json", ...flags], {
      clock: systemClock,
      signal: stop.signal,
      onStdout,
    });
    onTestFinished(async () => {
      stop.abort(new InterruptedError("SIGTERM"));
      await run;
    });
  });
  const { baseUrl, apiKey } = JSON.parse(said);
  const headers = { authorization: `Bearer ${apiKey}` };
  const { body } = await request(new URL("/v1/models", baseUrl), { headers });
  const { data } = JSON.parse(await body.text());
  return { ids: data.map(({ id }: { id: string }) => id), ...clientOf(baseUrl, apiKey) };
}

it("before a workflow, its file's name is the model, and any other is taken for it", async () => {
  const double = await comfyDouble();
  const world = await commandWorld({}, { IMGGEN_GENERATOR: `comfyui:${double.url}`, ...NO_ACCOUNT });
  await writeFile(path.join(world.cwd, "my flow.json"), JSON.stringify(workflow()));
  const { ids, accepted } = await served(world, ["--workflow", "my flow.json"]);
  expect(ids).toEqual(["my flow"]);
  for (const model of ["my flow", "gpt-image-1"]) await accepted({ prompt: "a fox", model });
  await expect.poll(() => double.submits).toHaveLength(2);
  const [first, second] = double.submits.map(({ prompt }) => prompt["4"]?.inputs);
  expect(second).toEqual(first);
});

it("before a command that is not told the model, any is taken", async () => {
  const command = "command:convert -size {width}x{height} xc:red -set comment @{promptFile} {output}";
  const { ids, submit } = await served(await commandWorld({}, { IMGGEN_GENERATOR: command, ...NO_ACCOUNT }));
  expect(ids).toEqual(["default"]);
  for (const model of ["default", "gpt-image-1"])
    expect((await submit({ prompt: "a fox", model })).body).toMatchObject({ code: 0 });
});
