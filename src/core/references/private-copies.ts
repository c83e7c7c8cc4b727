import path from "node:path";
import { pathToFileURL } from "node:url";
import { makeFolder } from "../../lib/durable.ts";
import { UsageError } from "../../lib/error-types.ts";
import { readRegular } from "../../lib/read-file.ts";
import { createWhole } from "../../lib/write-whole.ts";
import { StateFolderError } from "../../store/errors.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { TaskDeps } from "../deps.ts";
import { checkUrls } from "./check-urls.ts";
import { type ReferenceFile, sha256Of } from "./reference-file.ts";
import { type ReferencePlan, type RequestReferences, withUrls } from "./reference-images.ts";

export interface PrivateCopiesOptions {
  /** The files among a request's reference images. */
  files: readonly ReferenceFile[];
  /** Where the copies go: the queue before the user's own generator takes them from there. */
  folder: string;
  /** As of `ReferenceOptions`. */
  checksUrls: boolean;
  label: string;
}

/**
 * A request's reference images for the user's own generator, which may run long after the command has ended: each file is
 * copied, under the digest of its bytes, and goes into the request as a `file:` URL.
 */
export class PrivateCopies implements RequestReferences {
  readonly #options: PrivateCopiesOptions;

  constructor(options: PrivateCopiesOptions) {
    this.#options = options;
  }

  async known(request: GenerationRequest): Promise<GenerationRequest> {
    return withUrls(request, this.#urls());
  }

  async plan(request: GenerationRequest): Promise<ReferencePlan> {
    return { request: await this.known(request), uploads: [] };
  }

  /** @throws InvalidRequestError, UsageError, StateFolderError; nothing was sent */
  async ready(
    given: GenerationRequest,
    deps: Pick<TaskDeps, "connection" | "clock" | "signal">,
  ): Promise<{ request: GenerationRequest; warnings: string[] }> {
    const { checksUrls, label, files } = this.#options;
    const own = new Set(files.map((file) => file.given));
    const urls = [given.image ?? []].flat().filter((image) => !own.has(image));
    const warnings = checksUrls ? await checkUrls(urls, label, deps) : [];
    for (const file of files) await this.#copy(file);
    return { request: await this.known(given), warnings };
  }

  #urls(): Map<string, string> {
    return new Map(
      this.#options.files.map((file) => [file.given, pathToFileURL(this.#placeOf(file)).href] as const),
    );
  }

  #placeOf({ sha256, extension }: ReferenceFile): string {
    return path.join(this.#options.folder, `${sha256}.${extension}`);
  }

  async #copy(file: ReferenceFile): Promise<void> {
    const { folder } = this.#options;
    const bytes = readRegular(file.path);
    if (sha256Of(bytes) !== file.sha256)
      throw new UsageError(`${file.given} was changed meanwhile.`, {
        hint: "Nothing was charged. Run the same command again.",
      });
    try {
      await makeFolder(folder, 0o700);
      // One that is there already has the same bytes.
      await createWhole(this.#placeOf(file), bytes, 0o600);
    } catch (error) {
      throw new StateFolderError(folder, error);
    }
  }
}
