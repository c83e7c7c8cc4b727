import { createHash } from "node:crypto";
import path from "node:path";
import { type ClientSession, openLedger } from "../client/client-session.ts";
import type { GeneratorTarget } from "../client/targets/generator-target.ts";
import { startService } from "../client/targets/sandbox-target.ts";
import { ANY_MODEL } from "../task/request.ts";
import type { ServeOptions } from "./serve-options.ts";
import { type RunningServer, startServer } from "./start.ts";

/**
 * The generator's name identifies the server's folder and tasks, so that the next server continues the tasks.
 * @throws StateFolderError, or the system's error if the port cannot be used
 */
export async function openServer(
  target: GeneratorTarget,
  session: ClientSession,
  serveSettings: Pick<ServeOptions, "port" | "graceMs" | "onceMs" | "keepAliveMs" | "onEvent" | "onRequest">,
): Promise<RunningServer> {
  const { folders, context, settings } = session;
  const name = createHash("sha256")
    .update(await target.name())
    .digest("hex")
    .slice(0, 16);
  const folder = path.join(folders.state, "serve", name);
  const { options } = target.generator;
  const matrix = await target.matrix();
  const { connection, close } = await target.open();
  const { defaultModel, fieldNames, defaults, savedFields, ...terms } = await target.terms({ lasts: true });
  const findProblem = terms.findProblem && { findProblem: terms.findProblem };
  try {
    const server = await startService(folder, () =>
      startServer({
        ...serveSettings,
        folder,
        name,
        connection,
        ledger: openLedger(session),
        concurrency: options.concurrency,
        isFree: !options.isPaid,
        fieldTerms: { fieldNames, defaults, savedFields, ...findProblem },
        defaultModel: typeof defaultModel === "string" && defaultModel !== ANY_MODEL ? defaultModel : null,
        ownModel: target.ownModel,
        models: async () => (await target.terms({})).models,
        matrix,
        clock: context.clock,
        random: context.random,
        dailyCredits: settings.dailyCredits(),
      }),
    );
    return { ...server, close: (onWait) => server.close(onWait).finally(close) };
  } catch (error) {
    await close();
    throw error;
  }
}
