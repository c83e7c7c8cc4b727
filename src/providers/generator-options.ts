import type { SizeForm } from "../task/intent.ts";
import type { OwnFields } from "../task/request.ts";
import type { FieldNames } from "../task/request-fields.ts";

/**
 * How a generator is used. What makes an image, and whether it is paid for, is settled with the intent of its task; here it is
 * what the user has set for new ones.
 */
export interface GeneratorOptions {
  /** `--generator-model` */
  model: string | null;
  /** `--generator-side`: the longest side in pixels for 1K or no quality; 2K is twice, 4K four times as long. Default 1024. */
  sidePx: number;
  /** `--generator-size`: how a size is sent; null: as its kind does. */
  sizeForm: SizeForm | null;
  /** `--generator-concurrency`. Default: by the kind. */
  concurrency: number;
  /** `--generator-timeout`. Default 600 000. */
  timeoutMs: number;
  /** Defaults of requests: `--field`, and the settings `seed` and `negative`. */
  defaults: OwnFields;
  /** The names of its fields for a seed and a negative prompt. */
  fieldNames: FieldNames;
  /** `--workflow`: the user's file, and how messages name the option; undefined for none. */
  workflow?: { path: string; label: string } | undefined;
  /** `--generator-header`, with the variables' values in place. */
  headers: Readonly<Record<string, string>>;
  /** Follows from the kind and the address, unless `--generator-paid` or `--generator-free` says otherwise. */
  isPaid: boolean;
  key: string | null;
  /** `name@version` of the package that makes the images, where one does. */
  package?: string;
}
