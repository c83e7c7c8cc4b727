import { UsageError } from "../../lib/error-types.ts";
import { option, phrase } from "../../lib/wording.ts";

export interface Shard {
  /** Number of the part, from 1. */
  index: number;
  count: number;
}

const MAX_SHARDS = 10_000;

/** Parses a shard such as `2/4`, the second of four. @throws UsageError if the text is not a shard */
export function parseShard(text: string): Shard {
  const [, index, count] = /^(\d{1,9})\/(\d{1,9})$/.exec(text.trim()) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  if (shard.index >= 1 && shard.index <= shard.count && shard.count <= MAX_SHARDS) return shard;
  throw new UsageError(phrase`${option("shard")} ${JSON.stringify(text)} is not a part of a batch.`, {
    hint: `1/4 is the first of four parts; there are at most ${MAX_SHARDS}.`,
  });
}

/** Number of hexadecimal digits whose value a JavaScript number represents exactly. */
const DIGITS = 12;

/** Whether a row belongs to a shard. Each row is in exactly one shard, and equal rows are in the same shard. */
export function isInShard(digest: string, { index, count }: Shard): boolean {
  return Number.parseInt(digest.slice(0, DIGITS), 16) % count === index - 1;
}
