import { createHash } from "node:crypto";
import path from "node:path";
import type { OwnGenerator } from "./own-generator.ts";
import type { ClientSession } from "./session.ts";

/** The user's own generator, where it takes the place of a service; else null. What reads it is loaded only then. */
export async function generatorInEffect(
  session: Pick<ClientSession, "settings" | "context">,
): Promise<OwnGenerator | null> {
  const setting = session.settings.generator();
  if (setting === undefined) return null;
  const { ownGenerator } = await import("./own-generator.ts");
  return ownGenerator(setting, session);
}

/** Where the tasks of a generator are kept. @param name of its spec */
export function generatorFolder(stateFolder: string, name: string): string {
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 16);
  return path.join(stateFolder, "generators", digest);
}

/** Where the queue before a generator takes reference images from that are files. */
export function referencesFolder(stateFolder: string, name: string): string {
  return path.join(generatorFolder(stateFolder, name), "references");
}
