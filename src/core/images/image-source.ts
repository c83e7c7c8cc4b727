import type { MadeImage } from "../../providers/provider.ts";

/** Where one of a task's images is to be had from. */
export type ImageSource =
  | {
      kind: "url";
      url: string;
      /** For the provider's own origin alone. */
      headers?: Readonly<Record<string, string>> | undefined;
      /** Polls for a new URL after this one has stopped working; null if the provider has none. */
      freshUrl: () => Promise<string | null>;
      /** How many more images the same request has made, which are not saved. Default: none. */
      others?: number;
    }
  /** What its provider has sent is on this disk. */
  | { kind: "here"; read: () => Promise<MadeImage[]> }
  /** There is none, which is known. */
  | { kind: "none" };

/** The images at result URLs. @param poll for all URLs anew, in their order */
export function atUrls(urls: readonly string[], poll: () => Promise<string[] | null>): ImageSource[] {
  return urls.map((url, at) => ({
    kind: "url",
    url,
    freshUrl: async () => (await poll())?.[at] ?? null,
  }));
}
