/** This many characters of a service's id are unique in most ledgers. */
const SHORTEST = 13;
/** A ledger's own id begins with the time: this much is the time to a millisecond. */
const TIME = /^\d{8}T\d{9}(?=-)/;

/**
 * Prefixes of ids, each the shortest at which no other id begins so: from 13 characters on, or from the whole time on.
 * @param others ids that are not shown, and that the prefixes must not fit either
 */
export function shortIds(ids: readonly string[], others: readonly string[] = []): string[] {
  const known = [...new Set([...ids, ...others])].sort();
  const shared = new Map(
    known.map((id, at) => [id, Math.max(common(id, known[at - 1]), common(id, known[at + 1]))]),
  );
  return ids.map((id) => {
    const least = TIME.exec(id)?.[0].length ?? SHORTEST;
    return id.slice(0, Math.max(least, (shared.get(id) ?? 0) + 1));
  });
}

/** How many characters two ids have in common at their beginnings. Of sorted ids, neighbours have the most. */
function common(id: string, other = ""): number {
  let length = 0;
  while (length < id.length && id[length] === other[length]) length += 1;
  return length;
}
