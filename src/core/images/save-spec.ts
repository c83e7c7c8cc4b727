import type { Destination } from "../../task/intent.ts";
import type { Usage } from "../../task/line.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { ImageSource } from "./image-source.ts";

/** One task's images, and where they are to be saved. */
export interface SaveSpec {
  taskId: string;
  /** Content of the images' sidecars, if the destination has any; null if too little is known of the task. */
  facts: SidecarFacts | null;
  request: GenerationRequest | null;
  destination: Destination;
  /** In the order of the images. Further images of a reply on this disk come after these. */
  sources: readonly ImageSource[];
  /** The most that are downloaded. */
  maxImages: number;
  /** Whether further images of one reply are saved, after those of the other requests. */
  savesFurther: boolean;
  /** The files of an earlier run, by the position of their image; downloaded again only if the file is gone or changed. */
  savedFiles: readonly (SavedFile | null)[];
  /** Files of these images elsewhere, by the same position: copied, where they are whole, rather than downloaded. */
  copies: readonly (SavedFile | null)[];
  /** Ledger id of the task if this process holds it, else null. */
  heldTaskId: string | null;
  /** The time of the submit, for names: a resumed task then gets the same name. */
  date: Date;
  /** `--overwrite` keeps a file that is as new as this, in milliseconds since the epoch: it may be another process's. */
  keepsSinceMs: number;
  /** Whether a file that an earlier process published just before it ended is recognised, not saved again. */
  recovering: boolean;
}

/** Facts about a task for its images' sidecars. */
export interface SidecarFacts {
  taskId: string;
  /** Base URL of the service that it was charged at. */
  service: string;
  /** Queries of reference images are left out: they may be signatures. */
  request: GenerationRequest;
  /** Documented cost of the task; null if the document gives none. */
  credits: number | null;
  submittedAt: string | null;
  completedAt: string | null;
  /** Cost and tokens as the provider reports them; absent if it does not. */
  usage?: Usage;
}

export interface SaveResult {
  /** One entry for each image, in their order; null for one that is not saved. */
  files: (SavedFile | null)[];
  warnings: string[];
  /** Requests, from 0, with a reply on this disk that holds no usable image. */
  bad: { request: number; why: string }[];
  /** Requests, from 0, with an image whose URL has expired for good. */
  gone: { request: number; why: string }[];
  /** Requests whose replies have more images than are saved, and how many more. */
  rest: { request: number; count: number }[];
}
