/** Where a task's images go, decided before it is submitted. All paths are absolute. */
export type Destination = SaveOptions &
  (
    | /** Exactly this path; several images are numbered from it. Without an extension it gets the right one. */
    { kind: "file"; path: string }
    | { kind: "folder"; folder: string; template: string }
    /** The first image to standard output; what else comes, and a recovery, goes to the folder. */
    | { kind: "stdout"; folder: string; template: string }
  );

/** How images are saved, wherever they go. */
export interface SaveOptions {
  /** Whether existing files are replaced. */
  overwrite: boolean;
  /** Whether each image gets a sidecar, `<image>.json`. */
  sidecar?: boolean;
}
