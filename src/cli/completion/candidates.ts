/** One word that may stand at the cursor. */
export interface Candidate {
  value: string;
  description: string;
}

/** What may stand at the cursor. */
export interface Offer {
  /** Names of files or folders besides, which the shell completes, and quotes, best. */
  paths: "files" | "manifests" | "folders" | "none";
  candidates: readonly Candidate[];
}

export const NOTHING: Offer = { paths: "none", candidates: [] };

/**
 * A word that no shell reads anything into, and no command takes for a flag. bash puts a candidate on the line as it
 * is, and task ids come from the service, models from a file that somebody shared.
 */
const HARMLESS = /^[\p{L}\p{N}][\p{L}\p{N}._:/@+-]*$/u;

/** Of these, the harmless ones that begin with what is typed already. */
export function among(candidates: readonly Candidate[], current: string): Offer {
  const fitting = candidates.filter(({ value }) => value.startsWith(current) && HARMLESS.test(value));
  return { paths: "none", candidates: fitting };
}
