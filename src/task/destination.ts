/** Where a task's images go, decided before it is bought. All paths are absolute. */
export type Destination =
  /** Exactly this path; several images are numbered from it. Without an extension it gets the right one. */
  | { kind: "file"; path: string; overwrite: boolean }
  | { kind: "folder"; folder: string; template: string; overwrite: boolean }
  /** The first image to standard output; what else comes, and a recovery, goes to the folder. */
  | { kind: "stdout"; folder: string; template: string; overwrite: boolean };
