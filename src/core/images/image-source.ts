import type { WholeNumber } from "../../lib/exact-integer.ts";
import type { MadeImage } from "../../providers/provider.ts";

export interface SeededImage {
  image: MadeImage;
  seed: WholeNumber | null;
}

/** Source of one of a task's images. */
export type ImageSource =
  | {
      kind: "url";
      url: string;
      /** Sent to the provider's own origin only. */
      headers?: Readonly<Record<string, string>> | undefined;
      /** Polls for a new URL if this one fails; null if the provider returned none. */
      freshUrl: () => Promise<string | null>;
      /** Index of the request that has made it, from 0, if it is known. */
      request?: number;
      /** null if it is not known. */
      seed: WholeNumber | null;
    }
  /** The provider's reply to one request is stored on this disk. */
  | { kind: "here"; request: number; read: () => Promise<SeededImage[]> }
  /** One of several images of a request. */
  | ({ kind: "made" } & SeededImage)
  /** The image does not exist. */
  | { kind: "none" };

/** A source of one existing image. */
export type OneImage = Extract<ImageSource, { kind: "url" | "made" }>;
