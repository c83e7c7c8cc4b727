import { createHash } from "node:crypto";
import path from "node:path";
import { makeFolder } from "../lib/durable.ts";
import { readField } from "../lib/read-file.ts";
import { createAtomically, replaceAtomically } from "../lib/write-whole.ts";
import { withStateFolderErrors } from "./store-errors.ts";

export interface UploadKey {
  sha256: string;
  /** The configured command, because another command might upload to another server. */
  command: string;
}

/** Whether the URL of an uploaded file can be used again. False for a URL with a query, which might expire. */
export function isReusable(url: string): boolean {
  return new URL(url).search === "";
}

export class UploadCache {
  readonly #folder: string;

  constructor(stateFolder: string) {
    this.#folder = path.join(stateFolder, "uploads");
  }

  /** @throws StateFolderError */
  async find(key: UploadKey): Promise<string | null> {
    return withStateFolderErrors(this.#folder, "Nothing was sent.", async () =>
      readField(this.#path(key), "url"),
    );
  }

  /**
   * Records an upload durably.
   * @param replaced the URL that `find` returned before the upload
   * @returns the URL to send, which is the URL of another process if that process was faster and its URL is reusable
   * @throws StateFolderError
   */
  async record(key: UploadKey, url: string, replaced: string | null): Promise<string> {
    const current = await this.find(key);
    return withStateFolderErrors(this.#folder, "Nothing was sent.", async () => {
      await makeFolder(this.#folder, 0o700);
      const file = this.#path(key);
      const text = `${JSON.stringify({ url, sha256: key.sha256 })}\n`;
      if (current !== replaced && current !== null && isReusable(current)) return current;
      if (current === null && (await createAtomically(file, text, 0o600))) return url;
      const concurrent = current === null ? await this.find(key) : null;
      if (concurrent !== null && isReusable(concurrent)) return concurrent;
      await replaceAtomically(file, text, 0o600);
      return url;
    });
  }

  #path({ sha256, command }: UploadKey): string {
    const name = createHash("sha256").update(`${sha256}\0${command}`).digest("hex").slice(0, 32);
    return path.join(this.#folder, `${name}.json`);
  }
}
