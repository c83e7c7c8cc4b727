import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { inOneLine } from "../../lib/short-text.ts";
import { OUTPUT_TITLE, titleOf } from "./graph.ts";

/** An image at the server. */
export interface ServerImage {
  filename: string;
  subfolder: string;
  type: string;
}

/** A job that has ended, as the server's history has it. */
export interface HistoryEntry {
  outputs: Readonly<Record<string, unknown>>;
  status: Readonly<Record<string, unknown>>;
  /** The workflow as it was sent. */
  graph: Readonly<Record<string, unknown>>;
}

/** @returns null for what is no entry */
export function entryIn(value: unknown): HistoryEntry | null {
  if (!isJsonObject(value)) return null;
  const sent = Array.isArray(value.prompt) ? value.prompt[2] : undefined;
  return { outputs: fieldsOf(value.outputs), status: fieldsOf(value.status), graph: fieldsOf(sent) };
}

/**
 * The images of the node that is the result: the one titled `output`, else the first with images that the server keeps,
 * else the first with any.
 */
export function imagesOf({ outputs, graph }: HistoryEntry): ServerImage[] {
  const titled = Object.keys(graph).find((id) => title(graph[id]).toLowerCase() === OUTPUT_TITLE);
  if (titled !== undefined) return keptFirst(imagesIn(outputs[titled]));
  const each = Object.values(outputs)
    .map(imagesIn)
    .filter((images) => images.length > 0);
  return keptFirst(each.find((images) => images.some(isKept)) ?? each[0] ?? []);
}

function title(node: unknown): string {
  const { class_type, _meta } = fieldsOf(node);
  return typeof class_type === "string" ? titleOf({ class_type, inputs: {}, _meta }) : "";
}

function isKept({ type }: ServerImage): boolean {
  return type === "output";
}

function keptFirst(images: readonly ServerImage[]): ServerImage[] {
  const kept = images.filter(isKept);
  return kept.length > 0 ? kept : [...images];
}

/** The files of a node: its images, else what it has made instead, such as `gifs` of a node that saves videos. */
function imagesIn(output: unknown): ServerImage[] {
  const { images, ...others } = fieldsOf(output);
  const files = filesIn(images);
  return files.length > 0 ? files : Object.values(others).flatMap(filesIn);
}

function filesIn(list: unknown): ServerImage[] {
  if (!Array.isArray(list)) return [];
  return list
    .filter(isJsonObject)
    .flatMap(({ filename, subfolder = "", type = "output" }) =>
      typeof filename === "string" && typeof subfolder === "string" && typeof type === "string"
        ? [{ filename, subfolder, type }]
        : [],
    );
}

/** Why a job failed, as a sentence; null for one that did not. */
export function failureIn({ status, graph }: HistoryEntry): string | null {
  if (status.status_str !== "error") return null;
  const messages = Array.isArray(status.messages) ? status.messages : [];
  const factsOf = (kind: string) => messages.find((each) => Array.isArray(each) && each[0] === kind)?.[1];
  const error = factsOf("execution_error");
  if (isJsonObject(error)) {
    const { node_id, node_type, exception_message } = error;
    const id = String(node_id ?? "");
    const name = title(graph[id]) || String(node_type ?? "a node");
    return `The node ${JSON.stringify(name)} (${id}) of class ${node_type} failed: ${words(exception_message)}.`;
  }
  if (factsOf("execution_interrupted") !== undefined) return "It was cancelled at the server.";
  return "It failed, and the server does not say why.";
}

const LONGEST_WORDS = 500;

function words(value: unknown): string {
  const text = typeof value === "string" ? value : "no reason was given";
  return inOneLine(text).replace(/\.$/, "").slice(0, LONGEST_WORDS);
}
