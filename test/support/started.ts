import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { finished, type ProgramOptions, type ProgramResult } from "./program.ts";
import type { ProgramWorld } from "./program-world.ts";
import type { ScriptedServer } from "./scripted-server.ts";
import { pause } from "./wait.ts";

/** A program in the middle of its work. */
export interface Started {
  program: ChildProcess;
  end: Promise<ProgramResult>;
}

/** Starts a command, a generation where none is given, and waits until it has come so far. */
export async function startedWhen(
  world: ProgramWorld,
  isSoFar: () => boolean | Promise<boolean>,
  args: readonly string[] = world.generateArgs(),
  options: ProgramOptions = {},
): Promise<Started> {
  const program = world.start(args, options);
  const end = finished(program);
  while (!(await isSoFar())) await pause(5);
  return { program, end };
}

/** Starts a generation and waits until the service has had this many requests. */
export async function startedUntil(
  world: ProgramWorld,
  server: ScriptedServer,
  requests: number,
  args = world.generateArgs(),
  env: Record<string, string> = {},
): Promise<Started> {
  return startedWhen(world, () => server.requests.length >= requests, args, { env });
}

/** Kills a program, and waits for its end. */
export async function killed({ program, end }: Started): Promise<ProgramResult> {
  program.kill("SIGKILL");
  return end;
}

/**
 * Waits until a program handles signals itself: one that is still starting is ended by them. SIGHUP tells, as Node
 * handles SIGINT and SIGTERM for its own sake from the beginning. Where the system does not say (no `/proc`), a second
 * has to do.
 */
export async function handlesSignals({ pid }: ChildProcess): Promise<void> {
  for (;;) {
    const caught = caughtSignals(pid);
    if (caught === null) return pause(1_000);
    if (caught & SIGHUP_BIT) return;
    await pause(10);
  }
}

const SIGHUP_BIT = 1n;

/** The signals that a process handles, a bit each; null if the system does not say. */
function caughtSignals(pid: number | undefined): bigint | null {
  try {
    const [, mask] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return mask === undefined ? null : BigInt(`0x${mask}`);
  } catch {
    return null;
  }
}

/** Sends a signal and waits for the end, which came so many milliseconds after it. */
export async function stopped(program: ChildProcess, end: Promise<ProgramResult>, signal: NodeJS.Signals) {
  const sent = performance.now();
  program.kill(signal);
  const run = await end;
  return { run, elapsedMs: performance.now() - sent };
}
