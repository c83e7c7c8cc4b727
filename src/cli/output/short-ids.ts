/** This many characters of an id are unique in most ledgers. */
const SHORTEST = 13;

/** Prefixes of ids, all of the same length: the shortest, from 13 characters on, at which different ids still differ. */
export function shortIds(ids: readonly string[]): string[] {
  const distinct = new Set(ids).size;
  const longest = Math.max(0, ...ids.map((id) => id.length));
  let length = SHORTEST;
  while (length < longest && new Set(ids.map((id) => id.slice(0, length))).size < distinct) length += 1;
  return ids.map((id) => id.slice(0, length));
}
