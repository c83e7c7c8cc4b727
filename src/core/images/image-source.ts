import type { WholeNumber } from "../../lib/exact-integer.ts";
import type { MadeImage } from "../../providers/provider.ts";
import type { SavedFile } from "../../task/saved-file.ts";

export interface SeededImage {
  image: MadeImage;
  seed: WholeNumber | null;
}

export type ImageSource =
  | {
      kind: "url";
      url: string;
      /** HTTP headers that are sent only to the provider's origin. */
      headers?: Readonly<Record<string, string>> | undefined;
      /** Polls for a new URL after `url` has failed. Returns null if the provider has no new URL. */
      freshUrl: () => Promise<string | null>;
      /** Index of the image's request, from 0; absent if unknown. */
      request?: number;
      /** null if unknown. */
      seed: WholeNumber | null;
    }
  /** A provider's reply to one request, stored on the local disk. */
  | { kind: "here"; request: number; read: () => Promise<SeededImage[]> }
  | ({ kind: "made" } & SeededImage)
  /** A request without a stored reply. `file` is the file that was saved from the reply, or null if it has no image. */
  | { kind: "none"; file: SavedFile | null };

export type OneImage = Extract<ImageSource, { kind: "url" | "made" }>;
