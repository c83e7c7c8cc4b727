import type { WholeNumber } from "../../lib/exact-integer.ts";
import type { MadeImage } from "../../providers/provider.ts";
import type { SavedFile } from "../../task/saved-file.ts";

export interface SeededImage {
  image: MadeImage;
  seed: WholeNumber | null;
}

export interface UrlImage {
  kind: "url";
  url: string;
  /** HTTP headers that are sent only to the provider's origin. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Polls for a new URL after `url` has failed. Returns null if the provider has no new URL. */
  freshUrl: () => Promise<string | null>;
  /** null if unknown. */
  seed: WholeNumber | null;
}

export type OneImage = UrlImage | ({ kind: "made" } & SeededImage);

/** Source of the images of one request. */
export type ImageSource =
  | { kind: "urls"; images: readonly UrlImage[] }
  /** The provider's reply, which is stored on the local disk. */
  | { kind: "reply"; read: () => Promise<SeededImage[]> }
  /** Files that are taken over unchanged, by image: of a request without a stored reply. */
  | { kind: "saved"; files: readonly (SavedFile | null)[] }
  /** A request without images, or one whose images are not saved now. */
  | { kind: "skipped" };
