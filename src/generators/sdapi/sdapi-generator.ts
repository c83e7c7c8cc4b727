import { writeFile } from "node:fs/promises";
import path from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../../lib/json.ts";
import { readErrorBody } from "../error-body.ts";
import { type FailedReply, failedReply } from "../failed-reply.ts";
import {
  type GeneratedImage,
  type Generator,
  type GeneratorDeps,
  GeneratorError,
  type GeneratorJob,
  type JobDeps,
} from "../generator.ts";
import { GeneratorServer } from "../http.ts";
import { readReplyFile, type StoredReply } from "../reply-file.ts";
import type { GeneratorOptions, GeneratorSpec } from "../spec.ts";
import { followProgress } from "./progress.ts";
import { imageRequest } from "./request.ts";

type SdapiSpec = GeneratorSpec & { kind: "sdapi" };

/** A server of AUTOMATIC1111's form: `POST <base>/sdapi/v1/txt2img`, and `/img2img` with reference images. */
export function sdapiGenerator(spec: SdapiSpec, options: GeneratorOptions, deps: GeneratorDeps): Generator {
  // Some copy the address of the interface's own documentation.
  const base = new URL(spec.url);
  base.pathname = base.pathname.replace(/\/sdapi\/v1$/, "");
  const server = { ...options, url: base.href, authorization: authorizationOf(options.key) };
  return new SdapiGenerator(new GeneratorServer(server, deps), base, options, deps);
}

/** `user:password` is what these servers know; any other key is for a proxy before one. */
function authorizationOf(key: string | null): string | null {
  if (key === null) return null;
  return key.includes(":") ? `Basic ${Buffer.from(key).toString("base64")}` : `Bearer ${key}`;
}

class SdapiGenerator implements Generator {
  readonly #server: GeneratorServer;
  readonly #url: URL;
  readonly #options: GeneratorOptions;
  readonly #deps: GeneratorDeps;

  constructor(server: GeneratorServer, url: URL, options: GeneratorOptions, deps: GeneratorDeps) {
    this.#server = server;
    this.#url = url;
    this.#options = options;
    this.#deps = deps;
  }

  async generate(job: GeneratorJob, { signal, onProgress }: JobDeps): Promise<GeneratedImage> {
    const { clock } = this.#deps;
    const request = await imageRequest(job, { ...this.#deps, generatorUrl: this.#url, signal });
    const body = { type: "application/json", bytes: JSON.stringify(request.fields) };
    const headers: Record<string, string> = this.#options.isPaid ? { "x-client-request-id": job.taskId } : {};
    const done = new AbortController();
    const until = AbortSignal.any([signal, done.signal]);
    const following = followProgress(this.#server, clock, { onProgress, signal: until });
    try {
      const reply = await this.#server.post(request.path, body, { file: replyFile(job), signal, headers });
      return await this.#imageOf(reply, job);
    } finally {
      done.abort();
      await following;
    }
  }

  async recover(job: GeneratorJob): Promise<GeneratedImage | null> {
    const reply = await readReplyFile(replyFile(job));
    return reply === null || isCut(reply) ? null : this.#imageOf(reply, job);
  }

  async models(signal: AbortSignal): Promise<string[] | null> {
    const reply = await this.#server.get("/sdapi/v1/sd-models", signal);
    if (reply.status === 404) return null;
    if (reply.status !== 200) throw this.#failed(reply);
    const list = jsonOrNull(reply.body);
    if (!Array.isArray(list)) return null;
    const names = list.filter(isJsonObject).map(({ model_name, title }) => model_name ?? title);
    return names.filter((name) => typeof name === "string");
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #imageOf(reply: StoredReply, job: GeneratorJob): Promise<GeneratedImage> {
    const body = reply.body.toString("utf8");
    if (reply.status !== 200) throw this.#failed({ ...reply, body });
    if (isCut(reply)) throw this.#server.lost("the reply was cut short");
    const [image] = [fieldsOf(jsonOrNull(body)).images].flat();
    if (typeof image !== "string" || image === "") throw this.#withoutImage(body);
    const file = path.join(job.folder, "image");
    await writeFile(file, Buffer.from(image.replace(/^data:[^,]*,/, ""), "base64"), { mode: 0o600 }).catch(
      (error: unknown) => {
        throw this.#server.lost(`it could not be written to ${file}: ${errorText(error)}`);
      },
    );
    return { file, usage: null };
  }

  #withoutImage(body: string): GeneratorError {
    const { words } = readErrorBody(this.#server.mask(body));
    const said = words === null ? "" : `: ${words}`;
    return new GeneratorError(`${this.#server.host} answered without an image${said}.`, { kind: "refused" });
  }

  #failed(reply: FailedReply): GeneratorError {
    const { host, mask } = this.#server;
    return failedReply(reply, { host, mask, isPaid: this.#options.isPaid, nowMs: this.#deps.clock.now() });
  }
}

/** A reply whose JSON is whole is whole, whatever the connection did after it. */
function isCut({ body, isWhole }: StoredReply): boolean {
  return !isWhole && jsonOrNull(body.toString("utf8")) === null;
}

function replyFile({ folder }: GeneratorJob): string {
  return path.join(folder, "reply");
}
