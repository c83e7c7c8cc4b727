import { expireLeases, moveLeases } from "./leases.ts";
import { pointNamed } from "./pairs.ts";
import { RESUME, type Scenario } from "./scenarios.ts";
import { type Outcome, type Program, tryPoint } from "./try-point.ts";

/**
 * Strikes a generate as if on another host, of which nobody can ask whether it lives: a resume here leaves its task
 * alone until its time is up, and finishes it then.
 */
export async function tryOnAnotherHost(scenario: Scenario, at: RegExp, program: Program): Promise<Outcome> {
  const point = await pointNamed(scenario, at, 0, program);
  return tryPoint(scenario, point, program, async (world, recover) => {
    const { posts } = world.double;
    moveLeases(world);
    const { code } = await recover(RESUME);
    const isSent = world.double.posts > posts;
    expireLeases(world);
    return [
      ...(isSent ? ["a resume beside another host's process sends a request"] : []),
      ...(code === 6 ? [] : [`a resume beside another host's process ends with ${code}`]),
    ];
  });
}
