import { createHash } from "node:crypto";
import path from "node:path";
import { makeFolder } from "../lib/durable.ts";
import { readField } from "../lib/read-file.ts";
import { createAtomically, replaceAtomically } from "../lib/write-whole.ts";
import { withStateFolderErrors } from "./store-errors.ts";

export interface UploadKey {
  sha256: string;
  /** The configured command, because another command uploads to another place. */
  command: string;
}

/** Whether an uploaded file's URL may be used again. A query may be an expiring signature. */
export function isReusable(url: string): boolean {
  return new URL(url).search === "";
}

/** The URLs of uploaded files, so that no file is uploaded twice. */
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
   * @param earlier the replaced URL, as read by the caller
   * @returns the URL to send: another process's, if that process was first and its URL is reusable
   * @throws StateFolderError
   */
  async record(key: UploadKey, url: string, earlier: string | null): Promise<string> {
    const now = await this.find(key);
    return withStateFolderErrors(this.#folder, "Nothing was sent.", async () => {
      await makeFolder(this.#folder, 0o700);
      const file = this.#path(key);
      const text = `${JSON.stringify({ url, sha256: key.sha256 })}\n`;
      if (now !== earlier && now !== null && isReusable(now)) return now;
      if (now === null && (await createAtomically(file, text, 0o600))) return url;
      const other = now === null ? await this.find(key) : null;
      if (other !== null && isReusable(other)) return other;
      await replaceAtomically(file, text, 0o600);
      return url;
    });
  }

  #path({ sha256, command }: UploadKey): string {
    const name = createHash("sha256").update(`${sha256}\0${command}`).digest("hex").slice(0, 32);
    return path.join(this.#folder, `${name}.json`);
  }
}
