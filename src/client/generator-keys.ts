import { KINDS } from "../providers/kinds.ts";

/** An environment variable with the key of a kind of generator. `host`: the only one that gets it; null: the generator's own. */
export interface GeneratorKey {
  variable: string;
  kind: string;
  host: string | null;
}

/** The variables with keys of services that make images. */
export function generatorKeys(): GeneratorKey[] {
  return Object.entries(KINDS).flatMap(([kind, { url, keyVariables }]) =>
    keyVariables.map((variable) => ({ variable, kind, host: url === null ? null : new URL(url).host })),
  );
}
