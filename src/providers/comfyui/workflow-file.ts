import path from "node:path";
import { makeFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { stringifyExact } from "../../lib/exact-integer.ts";
import { sha256Hex } from "../../lib/file-digest.ts";
import { isPng, pngText } from "../../lib/image/png-text.ts";
import { readRegular } from "../../lib/read-file.ts";
import { createOrRenew } from "../../lib/write-whole.ts";
import type { JobOptions } from "../../task/intent.ts";
import type { GeneratorOptions } from "../kind.ts";
import { ProviderError, unsendable } from "../provider.ts";
import { parseExactJson } from "../reply-json.ts";
import { DEFAULT_WORKFLOW, EXPORT_HINT, type Graph, graphIn } from "./graph.ts";

export interface Workflow {
  graph: Graph;
  /** Digest of `text`. It is the file name of the private copy, and the workflow's id in the ledger. */
  sha256: string;
  text: string;
}

const MAX_FILE_BYTES = 128 * 1024 * 1024;
const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** Reads a file in API format, or a PNG that ComfyUI saved. @param label the option's name @throws UsageError */
export function readWorkflow(file: string, label: string): Workflow {
  const refused = (why: string, hint = EXPORT_HINT) =>
    new UsageError(`${label}: ${file} ${why}.`, { hint: `Nothing was sent. ${hint}` });
  let bytes: Buffer;
  try {
    bytes = readRegular(file, MAX_FILE_BYTES);
  } catch (error) {
    throw refused(`cannot be read: ${errorText(error)}`, "Check its path.");
  }
  const text = isPng(bytes) ? pngText(bytes, "prompt", MAX_TEXT_BYTES) : bytes.toString("utf8");
  if (text === null)
    throw refused("is a PNG without a workflow: only PNG files that ComfyUI saved contain one");
  if (text.length > MAX_TEXT_BYTES) throw refused("is larger than 4 MiB");
  const graph = graphIn(parseExactJson(text.replace(/^\uFEFF/, "")));
  if (typeof graph === "string") throw refused(graph);
  const copy = stringifyExact(Object.fromEntries(graph));
  return { graph, sha256: sha256Hex(Buffer.from(copy)), text: copy };
}

/** Workflows of tasks. An existing task uses a private copy, because the user might have changed the file. */
export class Workflows {
  readonly #file: GeneratorOptions["workflow"];
  readonly #folder: string | undefined;
  readonly #graphs = new Map<string, Graph>();

  /** @param folder folder of private copies; undefined if no task is started */
  constructor(file: GeneratorOptions["workflow"], folder: string | undefined) {
    this.#file = file;
    this.#folder = folder;
  }

  /** Stores a private copy of the file. @returns null for the default workflow @throws UsageError, ProviderError */
  async fromFile(): Promise<Workflow | null> {
    if (this.#file === undefined) return null;
    const workflow = readWorkflow(this.#file.path, this.#file.label);
    this.#graphs.set(workflow.sha256, workflow.graph);
    if (this.#folder !== undefined) await this.#keep(workflow, this.#folder);
    return workflow;
  }

  async #keep({ sha256, text }: Workflow, folder: string): Promise<void> {
    try {
      await makeFolder(folder, 0o700);
      await createOrRenew(path.join(folder, `${sha256}.json`), text);
    } catch (cause) {
      const message = `Nothing was sent: the workflow cannot be saved in ${folder}: ${errorText(cause)}.`;
      const hint = "Free some space or fix the folder.";
      throw new ProviderError(message, { kind: "unsent" }, { cause, hint });
    }
  }

  /** @throws ProviderError if the task's copy cannot be used */
  get({ workflow }: Pick<JobOptions, "workflow">): Graph {
    if (workflow === undefined) return DEFAULT_WORKFLOW;
    const cachedGraph = this.#graphs.get(workflow);
    if (cachedGraph !== undefined) return cachedGraph;
    try {
      const graph = this.#read(workflow);
      this.#graphs.set(workflow, graph);
      return graph;
    } catch (cause) {
      throw unsendable(`The workflow of the task cannot be used: ${errorText(cause)}.`, { cause });
    }
  }

  /** @throws Error whose message is a clause */
  #read(sha256: string): Graph {
    if (this.#folder === undefined) throw new Error("no copies are stored");
    // The digest is checked before it becomes part of a path, because the ledger might be damaged.
    if (!/^[\da-f]{64}$/.test(sha256)) throw new Error("its digest is invalid");
    const file = path.join(this.#folder, `${sha256}.json`);
    const bytes = readRegular(file, MAX_TEXT_BYTES);
    const graph =
      sha256Hex(bytes) === sha256 ? graphIn(parseExactJson(bytes.toString("utf8"))) : "was changed";
    if (typeof graph === "string") throw new Error(`its copy ${file} ${graph}`);
    return graph;
  }
}
