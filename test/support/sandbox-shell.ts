import path from "node:path";
import { onTestFinished } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { runCommand } from "./in-process.ts";
import { plainPicture } from "./plain-picture.ts";
import { type Shell, shellIn } from "./shell.ts";
import { parseSimpleLine } from "./simple-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * A shell in a folder of the test's own, with a sandbox as its service; both are gone after the test. A line that is
 * one call of imggen runs in this process, a tenth of the time; any other in `sh`, with the built program.
 */
export async function sandboxShell() {
  const folder = await temporaryFolder();
  const sandbox = await startSandbox({
    folder: path.join(folder, "sandbox"),
    latencyMs: 50,
    draw: plainPicture,
  });
  onTestFinished(() => sandbox.close());
  const { baseUrl } = sandbox;
  const shell = await shellIn(folder, baseUrl);
  const run: Shell["run"] = async (line) => {
    const simple = parseSimpleLine(line);
    if (simple === null) return shell.run(line);
    const { IMGGEN_HOME: home = "", ...env } = shell.env;
    const result = await runCommand(simple.args, {
      home,
      cwd: folder,
      env: { ...env, ...simple.env },
      input: "",
    });
    if (result.code !== 0) throw new Error(`${line}: exit code ${result.code}\n${result.stderr}`);
    return result;
  };
  return { ...shell, run, folder, baseUrl };
}

export type SandboxShell = Awaited<ReturnType<typeof sandboxShell>>;
