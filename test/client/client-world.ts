import path from "node:path";
import { onTestFinished } from "vitest";
import { type Client, type ClientOptions, createClient, ImggenFailure } from "../../src/client/index.ts";
import { accepts } from "../support/batch-world.ts";
import { CANARY, filesWithKey } from "../support/canary.ts";
import { png } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import type { ScriptedServer, ServiceScript } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

export interface ClientWorld {
  server: ScriptedServer;
  home: string;
  /** Where images go: ends in a slash. */
  output: string;
  /** One more client of the same account and home, closed after the test. */
  client: (options?: ClientOptions) => Client;
}

/** A service, and clients of it that share a home. Fails where the API key is found below that. */
export async function clientWorld(script: ServiceScript = {}): Promise<ClientWorld> {
  const server = await liveService(png(), { submit: accepts, ...script });
  const home = await temporaryFolder();
  const client = (options: ClientOptions = {}) => {
    const made = createClient({ baseUrl: server.baseUrl, apiKey: CANARY, home, ...options });
    onTestFinished(async () => {
      await made.close();
      if (filesWithKey(home).length > 0) throw new Error("the API key is on the disk");
    });
    return made;
  };
  return { server, home, output: `${path.join(home, "pictures")}/`, client };
}

/** What a call is refused with. */
export async function failureOf(call: Promise<unknown>): Promise<ImggenFailure> {
  const thrown = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown instanceof ImggenFailure) return thrown;
  throw new Error(`not refused as it should be: ${thrown}`);
}
