import { proxiesFromEnvironment } from "../api/proxies.ts";
import { openGenerator } from "../providers/kinds.ts";
import {
  type GeneratorServiceOptions,
  type RunningGeneratorService,
  startGeneratorService,
} from "../sandbox/generator-service.ts";
import { matrixInEffect } from "./matrix-in-effect.ts";
import { type OwnGenerator, requireKey } from "./own-generator.ts";
import { generatorFolder, startIn } from "./service-in-effect.ts";
import type { ClientSession } from "./session.ts";

/** How it is started: as the queue of one command, or as a server. */
type StartOptions = Pick<GeneratorServiceOptions, "runs" | "adoptsAll" | "port" | "onEvent" | "onRequest">;

/**
 * Starts the queue before the user's own generator inside this process, as a service on loopback.
 * @throws AuthRequiredError without a key that is needed, StateFolderError if the disk refuses its folder; of the port,
 * what the system says
 */
export async function startGenerator(
  own: OwnGenerator,
  session: ClientSession,
  start: StartOptions,
): Promise<RunningGeneratorService> {
  requireKey(own);
  const { spec, options } = own;
  const { env, clock, processes } = session.context;
  const folder = generatorFolder(session.folders.state, spec.name);
  const generator = await openGenerator(spec, options, {
    env,
    clock,
    proxies: proxiesFromEnvironment(env),
    onExchange: session.onExchange,
  });
  const matrix = matrixInEffect(session);
  const parts = { folder, spec, options, generator, matrix, clock, processes };
  try {
    return await startIn(folder, () => startGeneratorService({ ...start, ...parts }));
  } catch (error) {
    await generator.close();
    throw error;
  }
}
