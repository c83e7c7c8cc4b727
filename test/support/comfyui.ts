import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { png } from "./images.ts";
import { listenForTest } from "./live-server.ts";

/** A node of a graph in API format. */
export interface ComfyNode {
  class_type: string;
  inputs: Record<string, unknown>;
  _meta?: { title: string };
}
export type ComfyGraph = Record<string, ComfyNode>;

interface NodeClass {
  output_node?: true;
  api_node?: true;
  /** The types of its inputs that matter to a client. */
  takes?: readonly string[];
}

interface Submit {
  prompt: ComfyGraph;
  prompt_id: string;
  client_id?: string;
}

interface Job extends Submit {
  number: number;
}

export interface ComfyOptions {
  /** Beside the usual ones. */
  classes?: Record<string, NodeClass>;
  checkpoints?: readonly string[];
  /** Whether jobs wait until they are released. */
  isHeld?: boolean;
  /** How many images a node that saves them makes. */
  images?: number;
  /** What is wrong with every job when it runs. */
  fails?: { node: string; message: string };
}

/** A double of a ComfyUI server, written from what the server itself was seen to do. */
export interface ComfyDouble {
  url: string;
  host: string;
  /** Everything that it was sent, in order. */
  requests: { method: string; target: string; headers: IncomingMessage["headers"]; body: string }[];
  /** The bodies of `POST /prompt` that it took. */
  submits: Submit[];
  /** How many jobs were work, and not answered from its cache. */
  worked: number;
  uploads: string[];
  /** Called before each reply; true: the connection is cut instead of it. */
  cuts: (method: string, target: string) => boolean;
  /** Called before each reply; true: there is none. */
  isSilent: (method: string, target: string) => boolean;
  /** Called with each job that was taken, before its reply. */
  onTaken: () => void;
  /** Runs the jobs that wait, and those that come. */
  release(): void;
  /** Starts the first job that waits, without ending it. */
  begin(): void;
  /** What it answers with in place of its queue or history, by route. */
  instead: Map<string, unknown>;
  /** Statuses of a server before it, which answers in its place, by route. */
  statuses: Map<string, number>;
  /** Whether the images that it saved were deleted. */
  areFilesGone: boolean;
  /** Loses queue and history, as a restart does. */
  restart(): void;
  /** Sends a message to a job's own client. */
  say(clientId: string, type: string, data: Record<string, unknown>): void;
  /** Sends a message that is no text to a job's own client. */
  sayBytes(clientId: string, bytes: Buffer): void;
  clients(): string[];
  /** Cuts the connection of a job's own client. */
  cutOff(clientId: string): void;
}

const USUAL: Record<string, NodeClass> = {
  CheckpointLoaderSimple: {},
  CLIPTextEncode: { takes: ["STRING", "CLIP"] },
  EmptyLatentImage: {},
  KSampler: {},
  LoadImage: {},
  VAEDecode: { takes: ["LATENT"] },
  VAEEncode: { takes: ["IMAGE"] },
  SaveImage: { output_node: true, takes: ["IMAGE"] },
  PreviewImage: { output_node: true, takes: ["IMAGE"] },
};

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/** @param listen lets it listen, and gives its port; absent: until the test is over */
export async function comfyDouble(
  options: ComfyOptions = {},
  listen: (server: Server) => Promise<number> = listenForTest,
): Promise<ComfyDouble> {
  const classes: Record<string, NodeClass> = { ...USUAL, ...options.classes };
  const checkpoints = options.checkpoints ?? ["dream.safetensors"];
  const pending: Job[] = [];
  const running: Job[] = [];
  const history = new Map<string, unknown>();
  const cache = new Map<string, Record<string, unknown>>();
  const clients = new Map<string, Socket>();
  let isHeld = options.isHeld ?? false;
  let number = 0;
  let files = 0;

  const row = (job: Job) => [job.number, job.prompt_id, job.prompt, { client_id: job.client_id }, []];

  const end = (job: Job) => {
    const key = JSON.stringify(job.prompt);
    if (!cache.has(key) && !options.fails) double.worked += 1;
    const outputs = cache.get(key) ?? outputsOf(job.prompt);
    const cached = cache.has(key) ? Object.keys(job.prompt) : [];
    const status = options.fails ? failure(job, options.fails) : success(job, cached);
    if (!options.fails) cache.set(key, outputs);
    history.set(job.prompt_id, { prompt: row(job), outputs: options.fails ? {} : outputs, status });
  };
  const outputsOf = (graph: ComfyGraph) => {
    const saving = Object.entries(graph).filter(([, node]) => classes[node.class_type]?.output_node);
    return Object.fromEntries(
      saving.map(([id, { class_type }]) => {
        const type = class_type === "PreviewImage" ? "temp" : "output";
        const images = Array.from({ length: options.images ?? 1 }, () => {
          files += 1;
          return { filename: `imggen_${String(files).padStart(5, "0")}_.png`, subfolder: "", type };
        });
        return [id, { images }];
      }),
    );
  };
  const work = () => {
    while (!isHeld) {
      const job = running.shift() ?? pending.shift();
      if (job === undefined) return;
      end(job);
    }
  };

  const submit = (body: string): [number, unknown] => {
    const sent = JSON.parse(body) as Submit;
    if (!UUID.test(sent.prompt_id)) return [400, refusal("invalid_prompt_id")];
    const wrong = problemIn(sent.prompt, classes, checkpoints);
    if (wrong !== null) return [400, wrong];
    number += 1;
    pending.push({ ...sent, number });
    double.submits.push(sent);
    double.onTaken();
    setImmediate(work);
    return [200, { prompt_id: sent.prompt_id, number, node_errors: {} }];
  };

  const answer = (method: string, url: URL, body: string): [number, unknown] => {
    const [, route = "", name = ""] = url.pathname.split("/").map(decodeURIComponent);
    const status = double.statuses.get(route);
    if (method === "GET" && status !== undefined) return [status, { error: "not here" }];
    if (method === "GET" && double.instead.has(route)) return [200, double.instead.get(route)];
    if (method === "POST" && route === "prompt") return submit(body);
    if (method === "POST" && route === "queue") {
      const { delete: ids = [] } = JSON.parse(body) as { delete?: string[] };
      for (const id of ids) {
        const at = pending.findIndex(({ prompt_id }) => prompt_id === id);
        if (at !== -1) pending.splice(at, 1);
      }
      return [200, null];
    }
    if (method === "POST" && route === "interrupt") {
      const { prompt_id } = JSON.parse(body) as { prompt_id: string };
      const at = running.findIndex((job) => job.prompt_id === prompt_id);
      const [job] = at === -1 ? [] : running.splice(at, 1);
      if (job) history.set(prompt_id, { prompt: row(job), outputs: {}, status: interrupted(job) });
      return [200, null];
    }
    if (method === "POST" && url.pathname === "/upload/image") {
      const file = /filename="([^"]+)"/.exec(body)?.[1] ?? "";
      double.uploads.push(file);
      return [
        200,
        { name: file, subfolder: /name="subfolder"\r\n\r\n(\S*)/.exec(body)?.[1] ?? "", type: "input" },
      ];
    }
    if (route === "queue") return [200, { queue_running: running.map(row), queue_pending: pending.map(row) }];
    if (route === "history") return [200, history.has(name) ? { [name]: history.get(name) } : {}];
    if (url.pathname === "/models/checkpoints") return [200, checkpoints];
    if (route === "system_stats")
      return [200, { system: { os: "posix", comfyui_version: "0.3.64" }, devices: [{ type: "cuda" }] }];
    if (route === "object_info") return [200, infoOf(name, classes)];
    if (route === "view" && double.areFilesGone) return [404, null];
    if (route === "view")
      return [200, png(Number(/_(\d+)_/.exec(url.searchParams.get("filename") ?? "")?.[1] ?? 0))];
    return [404, { error: "not found" }];
  };

  const double: ComfyDouble = {
    url: "",
    host: "",
    requests: [],
    submits: [],
    worked: 0,
    uploads: [],
    instead: new Map(),
    statuses: new Map(),
    areFilesGone: false,
    cuts: () => false,
    isSilent: () => false,
    onTaken: () => {},
    release() {
      isHeld = false;
      work();
    },
    begin() {
      running.push(...pending.splice(0, 1));
    },
    restart() {
      pending.length = 0;
      running.length = 0;
      history.clear();
    },
    say: (clientId, type, data) =>
      void clients.get(clientId)?.write(frame(TEXT, Buffer.from(JSON.stringify({ type, data })))),
    sayBytes: (clientId, bytes) => void clients.get(clientId)?.write(frame(BINARY, bytes)),
    clients: () => [...clients.keys()],
    cutOff: (clientId) => void clients.get(clientId)?.destroy(),
  };

  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => serve(request, response, body));
  });
  const serve = (request: IncomingMessage, response: ServerResponse, body: string) => {
    const { method = "", url: target = "", headers } = request;
    double.requests.push({ method, target, headers, body });
    if (double.isSilent(method, target)) return;
    const [status, value] =
      headers.origin === undefined ? answer(method, new URL(target, "http://a"), body) : [403, null];
    if (double.cuts(method, target)) return void request.socket.destroy();
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(value === null ? "" : JSON.stringify(value));
    response.writeHead(status, { "content-length": bytes.length }).end(bytes);
  };
  server.on("upgrade", (request, socket: Socket) => {
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    const { method = "", url: target = "", headers } = request;
    double.requests.push({ method, target, headers, body: "" });
    socket.on("error", () => {});
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    const id = new URL(target, "http://a").searchParams.get("clientId") ?? "";
    clients.set(id, socket);
    socket.on("close", () => void (clients.get(id) === socket && clients.delete(id)));
    // A server of HTTP keeps its half of a connection open.
    socket.on("end", () => socket.end());
    socket.resume();
  });
  const port = await listen(server);
  double.host = `127.0.0.1:${port}`;
  double.url = `http://${double.host}`;
  return double;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

const [TEXT, BINARY] = [0x81, 0x82];

/** A short message from a server: it is not masked. */
function frame(kind: number, bytes: Buffer): Buffer {
  const head = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([kind, ...head]), bytes]);
}

function infoOf(name: string, classes: Record<string, NodeClass>): unknown {
  const nodeClass = classes[name];
  if (nodeClass === undefined) return {};
  const required = Object.fromEntries((nodeClass.takes ?? []).map((type, at) => [`input_${at}`, [type]]));
  return { [name]: { name, input: { required }, output_node: nodeClass.output_node ?? false, ...nodeClass } };
}

function refusal(type: string, message = "no", details = ""): unknown {
  return { error: { type, message, details, extra_info: {} }, node_errors: {} };
}

function problemIn(
  graph: ComfyGraph,
  classes: Record<string, NodeClass>,
  checkpoints: readonly string[],
): unknown {
  const nodes = Object.entries(graph);
  if (nodes.some(([, { class_type }]) => classes[class_type] === undefined))
    return refusal("invalid_prompt", "Cannot execute because a node is missing the class_type property.");
  if (!nodes.some(([, { class_type }]) => classes[class_type]?.output_node))
    return refusal("prompt_no_outputs", "Prompt has no outputs");
  const wrong = nodes.find(
    ([, { inputs }]) => typeof inputs.ckpt_name === "string" && !checkpoints.includes(inputs.ckpt_name),
  );
  if (wrong === undefined) return null;
  const [id, { class_type, inputs }] = wrong;
  const details = `ckpt_name: '${inputs.ckpt_name}' not in ${JSON.stringify(checkpoints)}`;
  const error = { type: "value_not_in_list", message: "Value not in list", details };
  const errors = [{ ...error, extra_info: { input_name: "ckpt_name" } }];
  return {
    error: { type: "prompt_outputs_failed_validation", message: "Prompt outputs failed validation" },
    node_errors: { [id]: { errors, dependent_outputs: ["9"], class_type } },
  };
}

function success({ prompt_id }: Job, nodes: readonly string[]): unknown {
  const messages = [
    ["execution_start", { prompt_id }],
    ["execution_cached", { nodes, prompt_id }],
    ["execution_success", { prompt_id }],
  ];
  return { status_str: "success", completed: true, messages };
}

function failure({ prompt_id, prompt }: Job, { node, message }: { node: string; message: string }): unknown {
  const facts = { prompt_id, node_id: node, node_type: prompt[node]?.class_type, exception_message: message };
  return { status_str: "error", completed: false, messages: [["execution_error", facts]] };
}

function interrupted({ prompt_id }: Job): unknown {
  return { status_str: "error", completed: false, messages: [["execution_interrupted", { prompt_id }]] };
}

/** A text-to-image workflow as ComfyUI exports it. */
export function workflow(changes: Record<string, Partial<ComfyNode> | null> = {}): ComfyGraph {
  const graph: ComfyGraph = {
    "3": {
      class_type: "KSampler",
      inputs: {
        seed: 1,
        steps: 20,
        cfg: 7,
        model: ["4", 0],
        positive: ["6", 0],
        negative: ["7", 0],
        latent_image: ["5", 0],
      },
      _meta: { title: "KSampler" },
    },
    "4": {
      class_type: "CheckpointLoaderSimple",
      inputs: { ckpt_name: "dream.safetensors" },
      _meta: { title: "Load Checkpoint" },
    },
    "5": {
      class_type: "EmptyLatentImage",
      inputs: { width: 512, height: 768, batch_size: 1 },
      _meta: { title: "Empty Latent Image" },
    },
    "6": {
      class_type: "CLIPTextEncode",
      inputs: { text: "a cat", clip: ["4", 1] },
      _meta: { title: "CLIP Text Encode (Prompt)" },
    },
    "7": {
      class_type: "CLIPTextEncode",
      inputs: { text: "blurry", clip: ["4", 1] },
      _meta: { title: "CLIP Text Encode (Prompt)" },
    },
    "8": {
      class_type: "VAEDecode",
      inputs: { samples: ["3", 0], vae: ["4", 2] },
      _meta: { title: "VAE Decode" },
    },
    "9": {
      class_type: "SaveImage",
      inputs: { filename_prefix: "fox", images: ["8", 0] },
      _meta: { title: "Save Image" },
    },
  };
  for (const [id, change] of Object.entries(changes)) {
    const before = graph[id] ?? { class_type: "", inputs: {} };
    if (change === null) delete graph[id];
    else graph[id] = { ...before, ...change, inputs: { ...before.inputs, ...change.inputs } };
  }
  return graph;
}
