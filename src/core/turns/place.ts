import { randomDigits } from "../../lib/write-whole.ts";

/** A place in the line. Two takers may give the same order, such as a task's id, so a mark tells them apart. */
export interface Place {
  readonly order: string;
  readonly mark: string;
}

/** A ticket's name: the place, and whether it is a turn or waits for one. */
export interface NamedTicket extends Place {
  readonly isTurn: boolean;
}

const NAME = /^(?<order>.+)\.(?<mark>\d{6,}-[0-9a-f]{8})\.(?<kind>waiting|turn)$/;

const TURN = ".turn";

let taken = 0;

/** A new place. Of two with the same order, the one that this process took first comes first. */
export function newPlace(order: string): Place {
  taken += 1;
  return { order, mark: `${String(taken).padStart(6, "0")}-${randomDigits()}` };
}

/** Compares by code units, so that all processes agree. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.order !== b.order) return a.order < b.order ? -1 : 1;
  if (a.mark !== b.mark) return a.mark < b.mark ? -1 : 1;
  return 0;
}

export function waitingName({ order, mark }: Place): string {
  return `${order}.${mark}.waiting`;
}

export function turnName({ order, mark }: Place): string {
  return `${order}.${mark}${TURN}`;
}

export function isTurnName(name: string): boolean {
  return name.endsWith(TURN);
}

/** The ticket that a file is; null for a file that is not ours. */
export function ticketIn(name: string): NamedTicket | null {
  const { order, mark, kind } = NAME.exec(name)?.groups ?? {};
  return order === undefined || mark === undefined ? null : { order, mark, isTurn: kind === "turn" };
}
