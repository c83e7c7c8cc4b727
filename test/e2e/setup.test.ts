import { expect, it } from "vitest";
import { AUTOMATIC1111, COMFYUI, hasOwnPorts, withServers } from "../support/own-ports.ts";
import { runProgram } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

// What it makes of what answers: test/cli/commands/setup.test.ts.
it.skipIf(!hasOwnPorts)("setup finds servers on the usual ports, whichever of them has which", async () => {
  const env = { IMGGEN_HOME: await temporaryFolder(), FAL_KEY: "fal-secret" };
  const through = withServers({
    7860: AUTOMATIC1111,
    8000: COMFYUI,
    11434: { "/v1/models": { data: [{ id: "flux" }] } },
  });
  const { code, stdout, stderr } = await runProgram(["setup", "--json"], { env, through });
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    ports: [1234, 7860, 8000, 8080, 8188, 11434],
    servers: [
      { generator: "sdapi:http://localhost:7860", model: "paint" },
      { generator: "comfyui:http://localhost:8000", model: "dream.safetensors" },
      { generator: "openai:http://localhost:11434/v1", model: "flux" },
    ],
    services: [{ generator: "fal", variable: "FAL_KEY" }],
  });
  expect(stdout).not.toContain("fal-secret");
});

it.skipIf(!hasOwnPorts)("setup that finds nothing ends well, and names the ways to begin", async () => {
  const env = { IMGGEN_HOME: await temporaryFolder() };
  const { code, stderr } = await runProgram(["setup"], { env, through: withServers({}) });
  expect(code).toBe(0);
  expect(stderr).toMatch(/--sandbox\n.*imggen login --base-url/);
});
