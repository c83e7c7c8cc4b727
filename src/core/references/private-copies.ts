import path from "node:path";
import { pathToFileURL } from "node:url";
import { makeFolder } from "../../lib/durable.ts";
import { UsageError } from "../../lib/error-types.ts";
import { sha256Hex } from "../../lib/file-digest.ts";
import { readRegular } from "../../lib/read-file.ts";
import { action, phrase } from "../../lib/wording.ts";
import { createOrRenew } from "../../lib/write-whole.ts";
import { isLocalFile } from "../../models/rules/images.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { checkUrls } from "./check-urls.ts";
import { type ReferenceFile, readReferenceFile } from "./reference-file.ts";
import { type ReferencePlan, type RequestReferences, withUrls } from "./reference-images.ts";

export interface PrivateCopiesOptions {
  folder: string;
  checksUrls: boolean;
  label: string;
  resolvePath: (file: string) => string;
}

/** Copies of reference images, so that a task can run after the originals are gone. A copy is named by its digest. */
export class PrivateCopies implements RequestReferences {
  readonly #options: PrivateCopiesOptions;
  /** Files by name, so that each file is checked once for all requests. */
  readonly #files = new Map<string, Promise<ReferenceFile>>();

  constructor(options: PrivateCopiesOptions) {
    this.#options = options;
  }

  /** @throws UsageError if a file cannot be used */
  async asRecorded(request: GenerationRequest): Promise<GenerationRequest> {
    const files = [request.image ?? []].flat().filter(isLocalFile);
    const read = await Promise.all(files.map((name) => this.#read(name)));
    return withUrls(
      request,
      new Map(read.map((file) => [file.name, pathToFileURL(this.#copyPath(file)).href])),
    );
  }

  async plan(request: GenerationRequest): Promise<ReferencePlan> {
    return { request: await this.asRecorded(request), uploads: [] };
  }

  /** @throws InvalidRequestError, UsageError, StateFolderError; nothing was sent */
  async ready(
    original: GenerationRequest,
    deps: Pick<TaskDeps, "connection" | "clock" | "signal">,
  ): Promise<{ request: GenerationRequest; warnings: string[] }> {
    const { checksUrls, label } = this.#options;
    const request = await this.asRecorded(original);
    const urls = [original.image ?? []].flat().filter((image) => !isLocalFile(image));
    const warnings = checksUrls ? await checkUrls(urls, label, deps) : [];
    await this.make();
    return { request, warnings };
  }

  /** Copies the files of all requests so far. @throws UsageError, StateFolderError; nothing was sent */
  async make(): Promise<void> {
    for (const file of this.#files.values()) await this.#copy(await file);
  }

  #read(name: string): Promise<ReferenceFile> {
    const { label, resolvePath } = this.#options;
    const file = this.#files.get(name) ?? readReferenceFile(name, label, resolvePath);
    this.#files.set(name, file);
    return file;
  }

  #copyPath({ sha256, extension }: ReferenceFile): string {
    return path.join(this.#options.folder, `${sha256}.${extension}`);
  }

  async #copy(file: ReferenceFile): Promise<void> {
    const { folder } = this.#options;
    const bytes = readRegular(file.path);
    if (sha256Hex(bytes) !== file.sha256)
      throw new UsageError(`${file.name} was changed after it was checked.`, {
        hint: ["Nothing was charged.", phrase`${action("repeat")}.`],
      });
    try {
      await makeFolder(folder, 0o700);
      await createOrRenew(this.#copyPath(file), bytes);
    } catch (error) {
      throw new StateFolderError(folder, error);
    }
  }
}
