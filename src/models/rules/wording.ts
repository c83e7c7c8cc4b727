import type { Model } from "../matrix.ts";

const LONGEST_SHOWN = 80;

/** A user's value inside a sentence: quoted if its ends would be unclear, cut if it is very long. */
export function shown(value: string): string {
  const short = value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value;
  return short === "" || /\s/.test(short) ? `"${short}"` : short;
}

/** `a, b, c`, of ids that the service's document lists; empty if it lists none of them. */
export function modelList(models: readonly Model[]): string {
  return models
    .filter((model) => model.documented)
    .map((model) => model.id)
    .join(", ");
}

/** A reference image's URL without possible secrets: a password before the host, a signature in the query. */
export function shownUrl(value: string): string {
  return shown(value.replace(/[?#].*$/s, "").replace(/(^https?:\/*|\/\/)[^/]*@/i, "$1"));
}
