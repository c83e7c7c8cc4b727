import type { Destination } from "../../task/intent.ts";
import type { Usage } from "../../task/line.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { ImageSource } from "./image-source.ts";

export interface SaveSpec {
  taskId: string;
  /** Content of the sidecars; null if the task's record is incomplete. */
  facts: SidecarFacts | null;
  request: GenerationRequest | null;
  destination: Destination;
  /** One source per request, or per saved file if the files are saved again. */
  sources: readonly ImageSource[];
  /** Files that an earlier run saved, by `fileIndex`. A missing or changed file is saved again. */
  savedFiles: readonly (SavedFile | null)[];
  /** Files of the images in other folders, by `fileIndex`. An unchanged file is copied instead of downloaded. */
  copies: readonly (SavedFile | null)[];
  /** Ledger id of the task if this process has claimed it, otherwise null. */
  claimedTaskId: string | null;
  /** Time of the submit. It is used in file names, so that they stay the same if the task is resumed. */
  date: Date;
  /** Milliseconds since the epoch. `--overwrite` keeps newer files, because another process might have written them. */
  keepsSinceMs: number;
  /** Whether an existing file with equal content is used, because a killed process might have published the image. */
  recovering: boolean;
}

export interface SidecarFacts {
  taskId: string;
  service: string;
  /** A sidecar omits the queries of reference images' URLs, because a query can be a signature. */
  request: GenerationRequest;
  /** Documented cost of the task; null if undocumented. */
  credits: number | null;
  submittedAt: string | null;
  completedAt: string | null;
  usage?: Usage;
}

export interface SaveResult {
  /** Entries by `fileIndex`; null for an image that is not saved or does not exist. */
  files: (SavedFile | null)[];
  /** Number of images of each request; 0 if unknown. */
  imageCounts: number[];
  warnings: string[];
  /** Indexes of requests whose stored reply has no usable image. */
  bad: { request: number; why: string }[];
  /** Indexes of requests whose unsaved images have all expired permanently. */
  gone: { request: number; why: string }[];
  /** Requests with more images than were saved. `count`: number of unsaved images. */
  rest: { request: number; count: number }[];
}
