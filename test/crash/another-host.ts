import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { filesBelow } from "./disk.ts";
import { pointNamed } from "./pairs.ts";
import { RESUME, type Scenario } from "./scenarios.ts";
import { type Outcome, type Program, tryPoint } from "./try-point.ts";
import type { CrashWorld } from "./world.ts";

/**
 * Strikes a generate as if on another host, of which nobody can ask whether it lives: a resume here leaves its task
 * alone until its time is up, and finishes it then.
 */
export async function tryOnAnotherHost(scenario: Scenario, at: RegExp, program: Program): Promise<Outcome> {
  const point = await pointNamed(scenario, at, 0, program);
  return tryPoint(scenario, point, program, async (world, recover) => {
    const { posts } = world.double;
    rewriteState(world, /"(host|scope)":"[^"]*"/g, '"$1":"elsewhere"');
    const { code } = await recover(RESUME);
    const isSent = world.double.posts > posts;
    rewriteState(world, /"until":"[^"]*"/g, '"until":"2020-01-01T00:00:00.000Z"');
    return [
      ...(isSent ? ["a resume beside another host's process sends a request"] : []),
      ...(code === 6 ? [] : [`a resume beside another host's process ends with ${code}`]),
    ];
  });
}

/** Changes what every file of the state folder says. */
function rewriteState({ home }: CrashWorld, from: RegExp, to: string): void {
  const state = path.join(home, "state");
  for (const name of filesBelow(state)) {
    const file = path.join(state, name);
    const text = readFileSync(file, "latin1");
    if (from.test(text)) writeFileSync(file, text.replace(from, to), "latin1");
  }
}
