// Apart from what a dry run needs: the names of its files take node:crypto, which takes Node 3 ms to load.
import path from "node:path";
import { DiskFile } from "../../lib/disk-file.ts";
import { makeFolder, removeIfPresent } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { type Processes, systemProcesses } from "../../lib/processes.ts";
import type { Destination } from "../../task/intent.ts";
import { SaveFailedError } from "../engine/errors.ts";
import { CHOOSE_ANOTHER } from "./destination.ts";
import { type OwnedKind, ownedName, removeAbandoned } from "./owned-name.ts";

/**
 * Creates the output folder and checks that a file can be written there, so that nothing is charged for an image that
 * cannot be saved.
 * @throws SaveFailedError
 */
export async function prepareDestination(
  destination: Destination,
  processes: Processes = systemProcesses(),
): Promise<void> {
  if (destination.kind === "stdout") return;
  const folder = destination.kind === "file" ? path.dirname(destination.path) : destination.folder;
  try {
    await makeFolder(folder, 0o777);
    await checkWritable(folder, processes);
  } catch (error) {
    throw new SaveFailedError(`Images cannot be written to ${folder}: ${errorText(error)}.`, {
      hint: CHOOSE_ANOTHER,
      cause: error,
    });
  }
}

const PROBE: OwnedKind = { prefix: ".imggen-", extension: ".probe" };

/**
 * Writes a file and removes it. Its name is this process's own, so that no other user's file or folder is in the way.
 * Such files of killed processes are removed.
 */
async function checkWritable(folder: string, processes: Processes): Promise<void> {
  await removeAbandoned(folder, PROBE, processes, Date.now());
  const probe = path.join(folder, ownedName(PROBE, processes.self));
  const file = DiskFile.createExclusive(probe, 0o600);
  try {
    file.write(Buffer.alloc(4096, 1));
  } finally {
    file.close();
    removeIfPresent(probe);
  }
}
