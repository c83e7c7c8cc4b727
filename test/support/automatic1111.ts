import type { Socket } from "node:net";
import { PICTURE } from "./images.ts";
import { liveServer } from "./live-server.ts";
import { json, type ScriptedServer, type SeenRequest } from "./scripted-server.ts";

export interface Automatic1111Options {
  /** The names of its models. */
  models?: readonly string[];
  /** The one that is loaded, as `/options` has it; null: there is no such path, as at sd-server. */
  loaded?: string | null;
  /** Whether images wait until they are released. */
  isHeld?: boolean;
}

/** A double of a server with AUTOMATIC1111's API. */
export interface Automatic1111 extends Pick<ScriptedServer, "origin" | "port" | "requests"> {
  /** As `--generator` has it. */
  spec: string;
  /** How far its image is, and what it looks like so far, in base64. */
  state: { progress: number; current_image?: unknown };
  /** The bodies of the requests for images. */
  bodies(): Record<string, unknown>[];
  /** How often it was told to end its work. */
  interrupts(): number;
  /** Answers the requests that wait, and those that come. */
  release(): void;
  /** Refuses the requests that wait. */
  refuse(): void;
}

const ANSWER = json({ images: [PICTURE.toString("base64")], parameters: {}, info: "{}" });
const NOT_FOUND = json({ detail: "Not Found" }, 404);

export async function automatic1111(options: Automatic1111Options = {}): Promise<Automatic1111> {
  const { models = ["dream", "paint"], loaded = "paint.safetensors [0123abcd]" } = options;
  let { isHeld = false } = options;
  const waiting: Socket[] = [];
  const answers: Record<string, (request: SeenRequest) => Buffer> = {
    "/sdapi/v1/sd-models": () =>
      json(models.map((name) => ({ title: `${name}.safetensors [0123abcd]`, model_name: name }))),
    "/sdapi/v1/options": () =>
      loaded === null ? NOT_FOUND : json({ sd_model_checkpoint: loaded, CLIP_stop_at_last_layers: 1 }),
    "/sdapi/v1/progress": ({ target }) => {
      const { current_image, ...rest } = double.state;
      return json({
        ...rest,
        current_image: target.includes("skip_current_image=true") ? null : current_image,
      });
    },
  };
  const server = await liveServer((request, socket) => {
    const path = new URL(request.target, "http://a").pathname;
    if (path === "/sdapi/v1/interrupt") {
      socket.write(json({}));
      for (const each of waiting.splice(0)) each.write(ANSWER);
    } else if (request.method === "POST" && isHeld) waiting.push(socket);
    else socket.write(request.method === "POST" ? ANSWER : (answers[path]?.(request) ?? NOT_FOUND));
  });
  const double: Automatic1111 = {
    ...server,
    spec: `sdapi:${server.origin}`,
    state: { progress: 0 },
    bodies: () =>
      server
        .submits()
        .filter(isForImage)
        .map(({ body }) => JSON.parse(body)),
    interrupts: () => server.submits().filter((request) => !isForImage(request)).length,
    refuse() {
      for (const each of waiting.splice(0)) each.write(json({ detail: "no" }, 422));
    },
    release() {
      isHeld = false;
      for (const each of waiting.splice(0)) each.write(ANSWER);
    },
  };
  return double;
}

function isForImage({ target }: SeenRequest): boolean {
  return target.endsWith("2img");
}
