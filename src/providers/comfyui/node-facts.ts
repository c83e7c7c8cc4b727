import { mapConcurrent } from "../../lib/concurrency.ts";
import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { joinFirst } from "../../lib/short-text.ts";
import { unsendable } from "../provider.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { type Graph, nodeName, nodesTitled, OUTPUT_TITLE } from "./graph.ts";

/** Properties of a class of nodes (`/object_info/{class}`). */
export interface NodeFacts {
  /** Whether the node's images are saved, or only shown and deleted later; null if the node is not an output. */
  output: "saved" | "shown" | null;
  /** Whether the node uses a paid external service. */
  isPaid: boolean;
}

/** Cache of properties by server and class, so that a process requests them only once. */
const factsByClass = new Map<string, NodeFacts>();

const CONCURRENCY = 8;
const MAX_LISTED = 8;

/** @throws ProviderError if the server lacks a class or cannot be reached */
export async function loadNodeFacts(
  graph: Graph,
  server: ComfyServer,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, NodeFacts>> {
  const classes = [...new Set([...graph.values()].map(({ class_type }) => class_type))];
  const facts = new Map<string, NodeFacts>();
  await mapConcurrent(classes, CONCURRENCY, async (name) => {
    const key = `${server.http.address} ${name}`;
    const classFacts = factsByClass.get(key) ?? readFacts(name, await server.objectInfo(name, signal));
    if (classFacts === null) return;
    factsByClass.set(key, classFacts);
    facts.set(name, classFacts);
  });
  const missing = [...graph].filter(([, { class_type }]) => !facts.has(class_type));
  if (missing.length === 0) return facts;
  const names = missing.map(([id, node]) => `${nodeName(id, node)} of ${node.class_type}`);
  throw unsendable(
    `The workflow has nodes of classes that ${server.http.host} does not have: ${joinFirst(names, MAX_LISTED)}.`,
    { hint: "Nothing was sent or charged. Install their custom nodes there." },
  );
}

/** @returns null if the server lacks the class */
function readFacts(name: string, info: unknown): NodeFacts | null {
  const facts = isJsonObject(info) && Object.hasOwn(info, name) ? info[name] : undefined;
  if (!isJsonObject(facts)) return null;
  const { required, optional } = fieldsOf(facts.input);
  const inputs = [...Object.values(fieldsOf(required)), ...Object.values(fieldsOf(optional))];
  const takesImages = inputs.some((each) => Array.isArray(each) && each[0] === "IMAGE");
  const isOutput = facts.output_node === true && takesImages;
  const kind = /^Preview/i.test(name) ? "shown" : "saved";
  return { output: isOutput ? kind : null, isPaid: facts.api_node === true };
}

/** Built-in classes of text-to-image and image-to-image workflows, which every server has. */
const CORE_CLASSES = `CheckpointLoaderSimple CLIPLoader CLIPTextEncode DualCLIPLoader EmptyLatentImage EmptySD3LatentImage
  FluxGuidance ImageScale ImageScaleBy ImageUpscaleWithModel KSampler KSamplerAdvanced LatentUpscale LoadImage LoraLoader
  LoraLoaderModelOnly UNETLoader UpscaleModelLoader VAEDecode VAEEncode VAELoader`;

const CORE_FACTS: ReadonlyMap<string, NodeFacts> = new Map<string, NodeFacts>([
  ...CORE_CLASSES.split(/\s+/).map((name): [string, NodeFacts] => [name, { output: null, isPaid: false }]),
  ["SaveImage", { output: "saved", isPaid: false }],
  ["PreviewImage", { output: "shown", isPaid: false }],
]);

/** The title `output` selects one of several nodes. @param facts default: the built-in classes @throws ProviderError */
export function requireOneOutput(graph: Graph, facts: ReadonlyMap<string, NodeFacts> = CORE_FACTS): void {
  const nodesWith = (output: NodeFacts["output"]) =>
    [...graph].filter(([, { class_type }]) => facts.get(class_type)?.output === output);
  const titled = nodesTitled(graph, OUTPUT_TITLE);
  if (titled.length === 1) return;
  const saving = nodesWith("saved");
  const outputs = [titled, saving, nodesWith("shown")].find((nodes) => nodes.length > 0) ?? [];
  // Nodes of unknown classes might be outputs, so only several known outputs prove that the workflow is wrong.
  const mayHaveMore = [...graph.values()].some(({ class_type }) => !facts.has(class_type));
  if (mayHaveMore && titled.length === 0 && saving.length <= 1) return;
  if (titled.length === 0 && outputs.length === 1) return;
  const names = outputs.map(([id, node]) => nodeName(id, node)).join(", ");
  throw unsendable(
    outputs.length === 0
      ? "The workflow has no node that saves an image: add a Save Image node."
      : `The workflow has ${outputs.length} nodes that save images: ${names}. In ComfyUI, give only the right node the title "${OUTPUT_TITLE}", and export the workflow again.`,
  );
}
