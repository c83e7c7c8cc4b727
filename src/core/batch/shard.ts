import { createHash } from "node:crypto";
import { UsageError } from "../../lib/errors.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { FIELD_NAMES, type FieldName, REQUEST_FIELDS } from "../../task/request-fields.ts";

/** One of several equal parts of a batch, for several machines to do one each. */
export interface Shard {
  /** 1 for the first. */
  index: number;
  count: number;
}

const MOST_SHARDS = 10_000;

/** `2/4` is the second of four. @throws UsageError where the text means no shard */
export function parseShard(text: string): Shard {
  const [, index, count] = /^(\d{1,9})\/(\d{1,9})$/.exec(text.trim()) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  if (shard.index >= 1 && shard.index <= shard.count && shard.count <= MOST_SHARDS) return shard;
  throw new UsageError(`--shard ${JSON.stringify(text)} is not a part of a batch.`, {
    hint: `--shard 1/4 is the first of four parts; there are at most ${MOST_SHARDS}.`,
  });
}

/** A batch knows its rows by their digests, so these are in each of them, set or not, and in this order for good. */
const IN_EVERY_DIGEST: readonly FieldName[] = ["prompt", "model", "ratio", "image", "maxImages", "quality"];

/** Fields that came later are in a digest only where they are set: what lacks them keeps the digest it had. */
const LATER_FIELDS = FIELD_NAMES.filter((name) => !IN_EVERY_DIGEST.includes(name)).toSorted();

/**
 * What a row is, as 32 hexadecimal digits: the same for the same request and output name, on every machine,
 * wherever the row stands. One reference image as a string is the same as a list of that one.
 */
export function rowDigest(request: GenerationRequest, output: string | undefined): string {
  const digested = (name: FieldName) =>
    REQUEST_FIELDS[name] === "texts" ? [request[name] ?? []].flat() : (request[name] ?? null);
  const later = LATER_FIELDS.filter((name) => request[name] !== undefined);
  // A list, as its order is fixed; what is not set is null, and no value that can be set.
  const content = [
    ...IN_EVERY_DIGEST.map(digested),
    output ?? null,
    ...later.map((name) => [name, digested(name)]),
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 32);
}

/** As many digits as a number holds exactly. */
const DIGITS = 12;

/** Whether a row belongs to a shard. Each row is in exactly one, and equal rows are in the same. */
export function inShard(digest: string, { index, count }: Shard): boolean {
  return Number.parseInt(digest.slice(0, DIGITS), 16) % count === index - 1;
}
