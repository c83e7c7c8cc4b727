import type { ChildProcess } from "node:child_process";
import { finished, type ProgramResult } from "./program.ts";
import type { ProgramWorld } from "./program-world.ts";
import type { ScriptedServer } from "./scripted-server.ts";
import { pause } from "./scripts.ts";

/** A program in the middle of its work. */
export interface Started {
  program: ChildProcess;
  end: Promise<ProgramResult>;
}

/** Starts a generation and waits until the service has had this many requests. */
export async function startedUntil(
  world: ProgramWorld,
  server: ScriptedServer,
  requests: number,
  args = world.generateArgs(),
  env: Record<string, string> = {},
): Promise<Started> {
  const program = world.start(args, { env });
  const end = finished(program);
  while (server.requests.length < requests) await pause(5);
  return { program, end };
}

/** Sends a signal and waits for the end, which came so many milliseconds after it. */
export async function stopped(program: ChildProcess, end: Promise<ProgramResult>, signal: NodeJS.Signals) {
  const sent = performance.now();
  program.kill(signal);
  const run = await end;
  return { run, elapsedMs: performance.now() - sent };
}
