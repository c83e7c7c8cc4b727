import { readFileSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import { ownImages, savedDigests } from "./disk.ts";
import { ledgerTasks } from "./ledger-tasks.ts";
import type { Place } from "./scenarios.ts";
import type { CrashWorld } from "./world.ts";

/** Files that prove that a folder can be written to: each crash may leave one, which is removed after a day. */
const PROBE = /^\.imggen\.[0-9a-f]{8}$/;
/** The draft of a crashed download, or a reservation of a name, or its draft. */
const TEMPORARY = /^\.\d{8}T\d{9}-[0-9a-f]{8}\.[0-9a-f]{8}$|^\.{1,2}imggen-name-[0-9a-f]+\./;

/** The id of a batch's folder, and what a crash while it was made has left. */
const FOLDER_ID = /^\.imggen-batch$/;
const FOLDER_ID_DRAFT = /^\.\.imggen-batch\.[0-9a-f]{8}$/;

/** Every file is a whole image, at its place and only there; what the user had is as it was. */
export function judgeFiles(world: CrashWorld): string[] {
  const images = ownImages(world);
  const { givesIds } = world.scenario.provider;
  const known = new Set(ledgerTasks(world).flatMap(({ ids }) => ids));
  const digests = savedDigests(world);
  const wrong: string[] = [];
  for (const [name, bytes] of Object.entries(world.scenario.before)) {
    if (digests.get(name) !== sha256(bytes)) wrong.push(`${name}, a file of the user's, was changed`);
    digests.delete(name);
  }
  const names = [...digests.keys()];
  for (const name of names) if (PROBE.test(name)) digests.delete(name);
  for (const kind of [FOLDER_ID, FOLDER_ID_DRAFT])
    digests.delete(names.find((name) => kind.test(name)) ?? "");
  wrong.push(...judgeSidecars(world, digests));
  // A disk may fail at the very moment of tidying up.
  if (world.diskFailed) digests.delete(names.find((name) => TEMPORARY.test(name)) ?? "");
  for (const [name, digest] of digests) {
    const image = images.get(digest);
    if (!image) wrong.push(`${name} is left in the output folder, and is no whole image`);
    // The request of a task that the ledger never got is not known.
    else if (!isAt(name, image.place) && (known.has(image.taskId) || !givesIds))
      wrong.push(`${name} is not at ${image.place}`);
  }
  if (new Set(digests.values()).size < digests.size)
    wrong.push(`an image is saved twice: ${[...digests.keys()]}`);
  return wrong;
}

function isAt(name: string, place: Place): boolean {
  return typeof place === "string" ? name === place : place.test(name);
}

const SIDECAR = /\.json$/;

/**
 * Every sidecar is whole and beside the image that it describes, and where they are wanted each saved image has one.
 * @param digests of the files in the output folder, by name; sidecars are removed from it
 */
function judgeSidecars(world: CrashWorld, digests: Map<string, string>): string[] {
  const sidecars = [...digests.keys()].filter((name) => SIDECAR.test(name));
  const wrong = sidecars.filter((name) => {
    digests.delete(name);
    return sha256In(path.join(world.out, name)) !== digests.get(name.replace(SIDECAR, ""));
  });
  const wanted = world.scenario.sidecars && !world.diskFailed ? [...digests.keys()] : [];
  const missing = wanted.filter((name) => /\.png$/.test(name) && !sidecars.includes(`${name}.json`));
  return [
    ...wrong.map((name) => `${name} is no sidecar of the image beside it`),
    ...missing.map((name) => `${name} was saved without its sidecar`),
  ];
}

/** What a sidecar says of its image; null for a file that is not whole. */
function sha256In(sidecar: string): string | null {
  try {
    return JSON.parse(readFileSync(sidecar, "utf8")).sha256;
  } catch {
    return null;
  }
}
