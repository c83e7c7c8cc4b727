import { describe, expect, it } from "vitest";
import { AUTOMATIC1111, COMFYUI, hasOwnPorts, withServers } from "../support/own-ports.ts";
import { BIN, runProgram } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe.skipIf(!hasScreen || !hasOwnPorts)("setup on a real terminal", () => {
  async function started(columns: number) {
    const IMGGEN_HOME = await temporaryFolder();
    const [command = "", ...before] = withServers({ 7860: AUTOMATIC1111, 8188: COMFYUI });
    const args = [...before, process.execPath, BIN, "setup"];
    const screen = await Screen.start(args, { columns, command, env: { IMGGEN_HOME } });
    await screen.shows(/^Which generator should be the default\? \[1-2, Enter for none\]$/m);
    const stored = async () => {
      const { stdout } = await runProgram(["config", "get", "generator"], { env: { IMGGEN_HOME } });
      return stdout.trim();
    };
    return { screen, stored };
  }

  it("makes the one that is chosen the default, and says what to type next", async () => {
    const { screen, stored } = await started(100);
    await screen.type("1", "Enter");
    expect(await screen.end()).toBe(0);
    const lines = await screen.lines();
    expect(lines.slice(0, 4)).toEqual([
      "#  GENERATOR                      MODEL              COST  FOUND BY",
      "1  sdapi:http://localhost:7860    paint              free  port 7860, 2 models",
      "2  comfyui:http://localhost:8188  dream.safetensors  free  port 8188",
      "Which generator should be the default? [1-2, Enter for none] 1",
    ]);
    expect(lines.slice(-2)).toEqual(["Images are free.", 'Next: imggen generate "a red fox"']);
    expect(await stored()).toBe("sdapi:http://localhost:7860");
  });

  it("changes nothing at Ctrl-C", async () => {
    const { screen, stored } = await started(60);
    await screen.type("C-c");
    expect(await screen.end()).toBe(130);
    expect(await stored()).toBe("");
  });
});
