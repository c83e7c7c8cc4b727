import path from "node:path";
import { makeFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { parseExact, stringifyExact } from "../../lib/exact-integer.ts";
import { sha256Of } from "../../lib/file-digest.ts";
import { isPng, pngText } from "../../lib/image/png-text.ts";
import { readRegular } from "../../lib/read-file.ts";
import { createWhole } from "../../lib/write-whole.ts";
import { lenientJson } from "../reply-json.ts";
import { EXPORT_HINT, type Graph, graphIn, graphJson } from "./graph.ts";

/** A workflow, and its private copy. */
export interface Workflow {
  graph: Graph;
  /** Digest of the copy's bytes: it identifies the workflow in the ledger, and names the copy. */
  sha256: string;
  /** What the copy holds. */
  text: string;
}

const MOST_FILE_BYTES = 128 * 1024 * 1024;
const MOST_TEXT_BYTES = 4 * 1024 * 1024;

/**
 * Reads a workflow of the user's: a file in API format, or a PNG that ComfyUI saved.
 * @param label names the option in messages @throws UsageError
 */
export function readWorkflow(file: string, label: string): Workflow {
  const refused = (why: string, hint = EXPORT_HINT) =>
    new UsageError(`${label}: ${file} ${why}.`, { hint: `Nothing was sent. ${hint}` });
  let bytes: Buffer;
  try {
    bytes = readRegular(file, MOST_FILE_BYTES);
  } catch (error) {
    throw refused(`cannot be read: ${errorText(error)}`, "Check its path.");
  }
  const text = isPng(bytes) ? pngText(bytes, "prompt", MOST_TEXT_BYTES) : bytes.toString("utf8");
  if (text === null)
    throw refused("is a PNG without a workflow: only one that ComfyUI itself saved holds it");
  if (text.length > MOST_TEXT_BYTES) throw refused("is larger than 4 MiB");
  const graph = graphIn(workflowJson(text.replace(/^\uFEFF/, "")));
  if (typeof graph === "string") throw refused(graph);
  const copy = stringifyExact(graphJson(graph));
  return { graph, sha256: sha256Of(Buffer.from(copy)), text: copy };
}

/** Its numbers are sent as they are written: a seed of 64 bits would be rounded. */
function workflowJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return lenientJson(text);
  }
}

/** Keeps a workflow for the tasks that are made with it. @throws the disk's error */
export async function keepWorkflow({ sha256, text }: Workflow, folder: string): Promise<void> {
  await makeFolder(folder, 0o700);
  // One that is there already has the same bytes.
  await createWhole(copyOf(sha256, folder), text, 0o600);
}

/** The workflow of a task, from its copy. @throws Error with a clause of why it cannot be used */
export function keptWorkflow(sha256: string, folder: string): Graph {
  const file = copyOf(sha256, folder);
  const bytes = readRegular(file, MOST_TEXT_BYTES);
  const graph = sha256Of(bytes) === sha256 ? graphIn(workflowJson(bytes.toString("utf8"))) : "was changed";
  if (typeof graph === "string") throw new Error(`its copy ${file} ${graph}`);
  return graph;
}

/** Where the copy of a workflow is. A digest from a damaged ledger is no path. */
export function copyOf(sha256: string, folder: string): string {
  if (!/^[\da-f]{64}$/.test(sha256)) throw new Error("its workflow has no name");
  return path.join(folder, `${sha256}.json`);
}
