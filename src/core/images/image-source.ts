import type { WholeNumber } from "../../lib/exact-integer.ts";
import type { MadeImage } from "../../providers/provider.ts";

/** An image that a request has made, and its seed; null if that is not known. */
export interface SeededImage {
  image: MadeImage;
  seed: WholeNumber | null;
}

/** Source of one of a task's images. */
export type ImageSource =
  | {
      kind: "url";
      url: string;
      /** For the provider's own origin alone. */
      headers?: Readonly<Record<string, string>> | undefined;
      /** Polls for a new URL after this one has stopped working; null if the provider did not answer with one. */
      freshUrl: () => Promise<string | null>;
      /** Index of the request that has made it, from 0, if it is known. */
      request?: number;
      /** null if it is not known. */
      seed: WholeNumber | null;
    }
  /** The provider's reply to one request is on this disk. */
  | { kind: "here"; request: number; read: () => Promise<SeededImage[]> }
  /** One of several images that a request has made. */
  | ({ kind: "made" } & SeededImage)
  /** There is none, which is known. */
  | { kind: "none" };

/** A source of one existing image. */
export type OneImage = Extract<ImageSource, { kind: "url" | "made" }>;
