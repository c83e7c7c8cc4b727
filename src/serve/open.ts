import { createHash } from "node:crypto";
import path from "node:path";
import { type ClientSession, openLedger } from "../client/client-session.ts";
import { openGenerator } from "../client/generator-connection.ts";
import type { OwnGenerator } from "../client/generator-settings.ts";
import { fieldTerms, termsAsked } from "../client/generator-terms.ts";
import { matrixInEffect } from "../client/matrix-in-effect.ts";
import { startService } from "../client/service-in-effect.ts";
import { ANY_MODEL } from "../task/request.ts";
import type { ServeOptions } from "./serve-options.ts";
import { type RunningServer, startServer } from "./start.ts";

/**
 * Starts a server before the user's own generator. Its folder and its tasks belong to the generator's name: the next server
 * continues the tasks of this one.
 * @throws StateFolderError; of the port, what the system says
 */
export async function openServer(
  generator: OwnGenerator,
  session: ClientSession,
  how: Pick<ServeOptions, "port" | "graceMs" | "onEvent" | "onRequest">,
): Promise<RunningServer> {
  const { folders, context, settings } = session;
  const name = createHash("sha256").update(generator.spec.name).digest("hex").slice(0, 16);
  const folder = path.join(folders.state, "serve", name);
  const { connection, close } = await openGenerator(generator, session);
  const { defaultModel } = await termsAsked(generator, session, { lasts: true });
  try {
    const server = await startService(folder, () =>
      startServer({
        ...how,
        folder,
        name,
        connection,
        ledger: openLedger(session),
        concurrency: generator.options.concurrency,
        isFree: !generator.options.isPaid,
        fieldTerms: fieldTerms(generator),
        defaultModel: typeof defaultModel === "string" && defaultModel !== ANY_MODEL ? defaultModel : null,
        models: async () => (await termsAsked(generator, session)).models,
        matrix: matrixInEffect(session),
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
