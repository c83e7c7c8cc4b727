import { UsageError } from "../../lib/error-types.ts";
import { action, phrase } from "../../lib/wording.ts";
import { isReusable, type UploadCache, type UploadKey } from "../../store/uploads.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { checkUrls } from "./check-urls.ts";
import { isUnchanged, type ReferenceFile } from "./reference-file.ts";
import { type UploadCommand, uploadFile } from "./upload-command.ts";

export interface ReferenceOptions {
  files: readonly ReferenceFile[];
  /** Upload command, or null if there are no files. */
  command: UploadCommand | null;
  cache: UploadCache;
  usesCache: boolean;
  /** Whether HEAD requests check the image at each URL. */
  checksUrls: boolean;
  /** Name of an image in messages. */
  label: string;
  env: Record<string, string | undefined>;
}

/** A request with the URLs of earlier uploads, and the files that a submit would upload. */
export interface ReferencePlan {
  request: GenerationRequest;
  uploads: readonly ReferenceFile[];
}

export interface RequestReferences {
  /** Returns the request as recorded in the ledger, or null if its URLs are unknown before the upload. */
  asRecorded(request: GenerationRequest): Promise<GenerationRequest | null>;
  plan(request: GenerationRequest): Promise<ReferencePlan>;
  ready(
    request: GenerationRequest,
    deps: UploadDeps,
  ): Promise<{ request: GenerationRequest; warnings: string[] }>;
}

type UploadDeps = Pick<TaskDeps, "connection" | "clock" | "signal" | "onProgress">;

export class ReferenceImages implements RequestReferences {
  readonly #options: ReferenceOptions;

  constructor(options: ReferenceOptions) {
    this.#options = options;
  }

  /** Returns the request with earlier uploads' URLs, or null if a file was never uploaded. @throws StateFolderError */
  async asRecorded(request: GenerationRequest): Promise<GenerationRequest | null> {
    const urls = await this.#earlierUrls();
    return this.#options.files.every(({ name }) => urls.has(name)) ? withUrls(request, urls) : null;
  }

  /** @throws StateFolderError */
  async plan(request: GenerationRequest): Promise<ReferencePlan> {
    const earlier = await this.#earlierUrls();
    const urls = new Map([...earlier].filter(([, url]) => isReusable(url)));
    const uploads = this.#options.files.filter(({ name }) => !urls.has(name));
    return { request: withUrls(request, urls), uploads };
  }

  /**
   * Checks URLs and uploads files. Call this function right before the request is recorded and submitted.
   * @throws InvalidRequestError, UsageError, StateFolderError, InterruptedError; nothing was sent to the service
   */
  async ready(
    original: GenerationRequest,
    deps: UploadDeps,
  ): Promise<{ request: GenerationRequest; warnings: string[] }> {
    const { checksUrls, label } = this.#options;
    const { request, uploads } = await this.plan(original);
    const files = new Set(uploads.map((file) => file.name));
    const urls = [request.image ?? []].flat().filter((image) => !files.has(image));
    const warnings = checksUrls ? await checkUrls(urls, label, deps) : [];
    const bySha256 = new Map<string, string>();
    const uploaded = new Map<string, string>();
    for (const file of uploads) {
      const url = bySha256.get(file.sha256) ?? (await this.#upload(file, deps));
      bySha256.set(file.sha256, url);
      uploaded.set(file.name, url);
    }
    return { request: withUrls(request, uploaded), warnings };
  }

  async #earlierUrls(): Promise<Map<string, string>> {
    const urls = new Map<string, string>();
    for (const file of this.#options.usesCache ? this.#options.files : []) {
      const url = await this.#earlier(file);
      if (url !== null) urls.set(file.name, url);
    }
    return urls;
  }

  async #upload(file: ReferenceFile, deps: UploadDeps): Promise<string> {
    const { command, env, cache } = this.#options;
    if (command === null) throw new Error("no upload command for a file");
    const earlier = await this.#earlier(file);
    deps.onProgress({ type: "uploading", file: file.name, bytes: file.bytes });
    const url = await uploadFile(file, command, env, deps.signal);
    // A changed file is refused, because the cache would return the URL of the changed image for the earlier bytes.
    if (!(await isUnchanged(file)))
      throw new UsageError(`${file.name} was changed while it was uploaded.`, {
        hint: ["Nothing was charged.", phrase`${action("repeat")}.`],
      });
    return cache.record(uploadKey(file, command), url, earlier);
  }

  async #earlier(file: ReferenceFile): Promise<string | null> {
    const { command, cache } = this.#options;
    return command === null ? null : cache.find(uploadKey(file, command));
  }
}

function uploadKey({ sha256 }: ReferenceFile, { text: command }: UploadCommand): UploadKey {
  return { sha256, command };
}

/** Replaces each file in the request that has a URL. */
export function withUrls(request: GenerationRequest, urls: ReadonlyMap<string, string>): GenerationRequest {
  const { image } = request;
  if (image === undefined || urls.size === 0) return request;
  const getUrl = (each: string) => urls.get(each) ?? each;
  return { ...request, image: Array.isArray(image) ? image.map(getUrl) : getUrl(image) };
}
