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
  /** In the order of the images. Additional images of a stored reply are appended. */
  sources: readonly ImageSource[];
  maxImages: number;
  /** Whether additional images of a reply are saved, after the first images of all requests. */
  savesFurther: boolean;
  /** Files of an earlier run, by the index of their image. Downloaded again only if missing or changed. */
  savedFiles: readonly (SavedFile | null)[];
  /** Files of these images in other folders, by index. Copied if unchanged, otherwise downloaded. */
  copies: readonly (SavedFile | null)[];
  /** Ledger id of the task if this process has claimed it, otherwise null. */
  heldTaskId: string | null;
  /** Time of the submit, for file names, so that a resumed task gets the same name. */
  date: Date;
  /** `--overwrite` keeps files newer than this (milliseconds since the epoch), which may be another process's. */
  keepsSinceMs: number;
  /** Whether a file that a killed process published is recognised instead of saved again. */
  recovering: boolean;
}

export interface SidecarFacts {
  taskId: string;
  /** Base URL of the service. */
  service: string;
  /** Without the queries of reference images, which may be signatures. */
  request: GenerationRequest;
  /** Documented cost of the task; null if the document gives none. */
  credits: number | null;
  submittedAt: string | null;
  completedAt: string | null;
  /** Cost and tokens that the provider reported, if any. */
  usage?: Usage;
}

export interface SaveResult {
  /** One entry for each image, in their order; null for one that is not saved. */
  files: (SavedFile | null)[];
  warnings: string[];
  /** Indexes of requests whose stored reply has no usable image. */
  bad: { request: number; why: string }[];
  /** Indexes of requests whose image URL has expired for good. */
  gone: { request: number; why: string }[];
  /** Requests with more images than were saved. `count`: number of unsaved images. */
  rest: { request: number; count: number }[];
}
