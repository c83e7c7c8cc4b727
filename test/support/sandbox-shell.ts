import path from "node:path";
import { onTestFinished } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { plainPicture } from "./plain-picture.ts";
import { type Shell, shellIn } from "./shell.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A shell in a folder of the test's own, with a sandbox as its service; both are gone after the test. */
export interface SandboxShell extends Shell {
  folder: string;
  baseUrl: string;
}

export async function sandboxShell(): Promise<SandboxShell> {
  const folder = await temporaryFolder();
  const sandbox = await startSandbox({
    folder: path.join(folder, "sandbox"),
    latencyMs: 50,
    draw: plainPicture,
  });
  onTestFinished(() => sandbox.close());
  const { baseUrl } = sandbox;
  return { ...(await shellIn(folder, baseUrl)), folder, baseUrl };
}
