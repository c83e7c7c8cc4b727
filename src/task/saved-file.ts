/** An image of a task, whole under its final name. */
export interface SavedFile {
  /** Absolute; null for bytes that went to standard output. */
  path: string | null;
  /** The whole result URL, its query included. */
  url: string;
  mediaType: string;
  bytes: number;
  sha256: string;
  width: number;
  height: number;
}
