import { mapConcurrent } from "../../lib/concurrency.ts";
import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { listed } from "../../lib/short-text.ts";
import { type ProviderError, unsendable } from "../provider.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { type Graph, type GraphNode, nodeName, nodesTitled, OUTPUT_TITLE } from "./graph.ts";

/** What a server says of a class of nodes (`/object_info/{class}`). */
export interface NodeFacts {
  /** Whether its images end a workflow, kept by the server. */
  savesImages: boolean;
  /** Whether they are only shown: they are kept for a while. */
  showsImages: boolean;
  /** Whether it has the work done elsewhere, for money. */
  isPaid: boolean;
}

/** What is known of the classes of each server: it is asked once in the life of this process. */
const factsByClass = new Map<string, NodeFacts>();

const AT_ONCE = 8;

/**
 * Asks a server about the classes of a workflow.
 * @throws ProviderError for one that it does not have, or where it cannot be asked
 */
export async function factsOf(
  graph: Graph,
  server: ComfyServer,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, NodeFacts>> {
  const classes = [...new Set([...graph.values()].map(({ class_type }) => class_type))];
  const facts = await mapConcurrent(classes, AT_ONCE, async (name) => {
    const key = `${server.address} ${name}`;
    const found = factsByClass.get(key) ?? readFacts(name, await server.objectInfo(name, signal));
    if (found !== null) factsByClass.set(key, found);
    return [name, found] as const;
  });
  const missing = facts.filter(([, found]) => found === null).map(([name]) => name);
  if (missing.length > 0) throw missingClasses(graph, missing, server);
  return new Map(facts.flatMap(([name, found]) => (found === null ? [] : [[name, found] as const])));
}

/** @returns null for a class that the server does not have */
function readFacts(name: string, info: unknown): NodeFacts | null {
  const facts = isJsonObject(info) && Object.hasOwn(info, name) ? info[name] : undefined;
  if (!isJsonObject(facts)) return null;
  const { required, optional } = fieldsOf(facts.input);
  const inputs = [...Object.values(fieldsOf(required)), ...Object.values(fieldsOf(optional))];
  const takesImages = inputs.some((each) => Array.isArray(each) && each[0] === "IMAGE");
  const isOutput = facts.output_node === true && takesImages;
  const isPreview = /^Preview/i.test(name);
  return {
    savesImages: isOutput && !isPreview,
    showsImages: isOutput && isPreview,
    isPaid: facts.api_node === true,
  };
}

const MOST_LISTED = 8;

function missingClasses(graph: Graph, classes: readonly string[], { host }: ComfyServer): ProviderError {
  const nodes = [...graph].filter(([, { class_type }]) => classes.includes(class_type));
  const names = nodes.map(([id, node]) => `${nodeName(id, node)} of ${node.class_type}`);
  return unsendable(
    `The workflow has nodes of classes that ${host} does not have: ${listed(names, MOST_LISTED)}.`,
    { hint: "Nothing was sent or charged. Install their custom nodes there." },
  );
}

/** Checks that it is certain which node's image is the result. @throws ProviderError */
export function requireOneOutput(graph: Graph, facts: ReadonlyMap<string, NodeFacts>): void {
  const makes = (what: "savesImages" | "showsImages") =>
    [...graph].filter(([, { class_type }]) => facts.get(class_type)?.[what] === true);
  const saving = makes("savesImages");
  const found = saving.length > 0 ? saving : makes("showsImages");
  const titled = nodesTitled(graph, OUTPUT_TITLE);
  if (titled.length === 1 || (titled.length === 0 && found.length === 1)) return;
  throw unclearOutput(titled.length > 1 ? titled : found);
}

const NOT_OUTPUT: NodeFacts = { savesImages: false, showsImages: false, isPaid: false };

/** ComfyUI's own classes of text-to-image and image-to-image workflows, which every server has. */
const CORE_CLASSES: ReadonlyMap<string, NodeFacts> = new Map([
  ...[
    "CheckpointLoaderSimple",
    "CLIPLoader",
    "CLIPTextEncode",
    "DualCLIPLoader",
    "EmptyLatentImage",
    "EmptySD3LatentImage",
    "FluxGuidance",
    "ImageScale",
    "ImageScaleBy",
    "ImageUpscaleWithModel",
    "KSampler",
    "KSamplerAdvanced",
    "LatentUpscale",
    "LoadImage",
    "LoraLoader",
    "LoraLoaderModelOnly",
    "UNETLoader",
    "UpscaleModelLoader",
    "VAEDecode",
    "VAEEncode",
    "VAELoader",
  ].map((name) => [name, NOT_OUTPUT] as const),
  ["SaveImage", { ...NOT_OUTPUT, savesImages: true }],
  ["PreviewImage", { ...NOT_OUTPUT, showsImages: true }],
]);

/** As `requireOneOutput`, as far as that is certain without asking a server. @throws ProviderError */
export function requireOneOutputUnasked(graph: Graph): void {
  const titled = nodesTitled(graph, OUTPUT_TITLE).length;
  const saving = [...graph].filter(([, { class_type }]) => CORE_CLASSES.get(class_type)?.savesImages);
  const isKnown = [...graph.values()].every(({ class_type }) => CORE_CLASSES.has(class_type));
  // Nodes of unknown classes may add an output, and take none away.
  if (isKnown || titled > 1 || saving.length > 1) requireOneOutput(graph, CORE_CLASSES);
}

function unclearOutput(nodes: readonly [string, GraphNode][]): ProviderError {
  const names = nodes.map(([id, node]) => nodeName(id, node)).join(", ");
  const what =
    nodes.length === 0
      ? "has no node that saves an image: add a Save Image node"
      : `has ${nodes.length} nodes that save images: ${names}. Give the right one, and no other, the title "${OUTPUT_TITLE}" in ComfyUI, and export it again`;
  return unsendable(`The workflow ${what}.`);
}
