import type { ProviderFields } from "./request-fields.ts";

/** What makes a task's images beside the request itself. Of two tasks that differ in it, none answers for the other. */
export interface WorkOptions {
  /** The provider's own name of a model; null: whatever it has. */
  model: string | null;
  /** Pixels, as asked for: the image itself says what the provider has made of them. */
  width: number;
  height: number;
  /** How a size is sent; null: as the provider's kind does. */
  sizeForm: SizeForm | null;
  /** Fields that the user has set, under the provider's names: `steps`, `seed`, `negative_prompt`. */
  fields: ProviderFields;
  /** The field that holds a seed: each further request of the task gets the next number. Absent: none. */
  seedField?: string;
  /** `name@version` of the package that sent the request, where one did. */
  package?: string;
  /** The SHA-256 of the workflow that makes the images, of which there is a private copy; absent where none is used. */
  workflow?: string;
}

export type SizeForm = "WxH" | "width,height" | "aspect_ratio";

/**
 * What a task at a provider other than the hosted service is worth, and what makes its images: settled with its intent.
 * Whoever continues it goes by this, never by its own settings.
 */
export interface Work {
  /** Our id of the task, made before anything is sent. */
  taskId: string;
  isPaid: boolean;
  /** How many requests its images take. */
  requests: number;
  /** How long one request may take, in milliseconds. */
  requestMs: number;
  options: WorkOptions;
}
