import { createHash } from "node:crypto";
import { ImggenError } from "../../lib/error-types.ts";
import { type CheckOptions, checkRequest } from "../../models/check-request.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { CheckedRequest, GenerationRequest, RequestInput } from "../../task/request.ts";
import { FIELD_NAMES, type FieldName, REQUEST_FIELDS } from "../../task/request-fields.ts";
import type { PrivateCopies } from "../references/private-copies.ts";

export interface CheckedRow {
  /** Number of the row, from 1. */
  row: number;
  line: number;
  checked: CheckedRequest;
  /** Path below the output folder; null if the template names the file. */
  output: string | null;
  /** File name template with the row's columns filled in; absent if the batch's template applies. */
  template?: string;
  /** Digest of the row's content, which does not depend on its line, and a count that distinguishes equal rows. */
  key: string;
  /** Key in claims of older releases, which did not trim prompts; absent if equal to `key`. */
  uncutKey?: string;
}

export interface RowChecks extends Pick<CheckOptions, "labels" | "savedFields" | "generator"> {
  matrix: Matrix;
  validate: boolean;
  /** Private copies of reference images that are files; absent or null if only URLs are supported. */
  copies?: Pick<PrivateCopies, "asRecorded"> | null;
}

/** @returns the checked request, or the error of an invalid row */
export async function checkRow(
  input: RequestInput,
  { matrix, copies, ...options }: RowChecks,
): Promise<CheckedRequest | ImggenError> {
  try {
    const checked = checkRequest(input, matrix, options);
    return copies ? { ...checked, request: await copies.asRecorded(checked.request) } : checked;
  } catch (error) {
    if (error instanceof ImggenError) return error;
    throw error;
  }
}

/** Fields that every digest contains. Their order must never change, because digests identify rows across releases. */
const DIGEST_FIELDS: readonly FieldName[] = ["prompt", "model", "ratio", "image", "maxImages", "quality"];

/** Fields of later releases. A digest contains them only if they are set, so that older rows keep their digests. */
const LATER_FIELDS = FIELD_NAMES.filter((name) => !DIGEST_FIELDS.includes(name)).toSorted();

/** Digest of a row's content in hexadecimal. It is the same on every machine and in every line of a manifest. */
export function rowDigest(request: GenerationRequest, output: string | undefined): string {
  const digestValue = (name: FieldName) =>
    REQUEST_FIELDS[name] === "texts"
      ? [request[name] ?? []].flat().map(digestImage)
      : (request[name] ?? null);
  const later = LATER_FIELDS.filter((name) => request[name] !== undefined);
  // The content is a list, because the order of a list is fixed. Unset fields are null.
  const content = [
    ...DIGEST_FIELDS.map(digestValue),
    output ?? null,
    ...later.map((name) => [name, digestValue(name)]),
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 32);
}

/** Returns only the name of a private copy, which is a digest, because the folder differs between machines. */
function digestImage(image: unknown): unknown {
  return /^file:.*\/([\da-f]{64}\.\w+)$/.exec(String(image))?.[1] ?? image;
}

/** Numbers equal rows, so that their keys are different. */
export class RowKeys {
  readonly #seen = new Map<string, number>();

  next(digest: string): string {
    const count = (this.#seen.get(digest) ?? 0) + 1;
    this.#seen.set(digest, count);
    return `${digest}-${count}`;
  }
}

/** Uses `uncutKey` as the key of each row that an older release submitted. */
export function withKnownKeys(
  rows: readonly CheckedRow[],
  isClaimed: (key: string) => boolean,
): readonly CheckedRow[] {
  const isUncut = ({ uncutKey }: CheckedRow) => uncutKey !== undefined && isClaimed(uncutKey);
  if (!rows.some(isUncut)) return rows;
  // Older releases did not count these rows as equal to the others, so the others are numbered without them.
  const keys = new RowKeys();
  return rows.map((row) => {
    const key = isUncut(row) ? row.uncutKey : keys.next(row.key.replace(/-\d+$/, ""));
    return key === undefined ? row : { ...row, key };
  });
}

/** Whether an earlier row has the same content. */
export function isRepeat(key: string): boolean {
  return !key.endsWith("-1");
}
