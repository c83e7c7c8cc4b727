import { createHash } from "node:crypto";
import { type Begun, begin, type NotBegun, type Order, refusedBy } from "./begin.ts";
import type { Service } from "./server-parts.ts";

const OTHER_BODY: { refused: NotBegun } = {
  refused: {
    kind: "other body",
    field: null,
    detail: "This Idempotency-Key was used for another request. Use a new key for each request.",
  },
};

/** As `begin`; with a key, the same request is the same task for a week, whatever crashed in between. */
export async function beginOnce(order: Order, service: Service, key: string | undefined): Promise<Begun> {
  if (key === undefined) return begin(order, service);
  return service.keys.inTurn(key, () => beginAs(key, order, service)).catch(refusedBy);
}

async function beginAs(key: string, order: Order, service: Service): Promise<Begun> {
  const { keys, ledger } = service;
  const digest = digestOf(order);
  const { entry, isNew } = await keys.claim(key, digest);
  if (entry.digest !== digest) return OTHER_BODY;
  const wasBegun = async () => (await ledger.read(entry.id)) !== null;
  if (!isNew && (await wasBegun())) return { taskId: entry.taskId };
  const begun = await begin(order, service, entry);
  if ("refused" in begun && isNew && !(await wasBegun())) keys.forget(key);
  return begun;
}

function digestOf({ input, options, copies }: Order): string {
  const ordered = Object.entries({ ...input }).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([ordered, options, copies]))
    .digest("hex");
}
