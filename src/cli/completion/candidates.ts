/** One word that may stand at the cursor. */
export interface Candidate {
  value: string;
  description: string;
}

/** What may stand at the cursor. */
export interface Offer {
  /** Names of files or folders besides, which the shell completes best. */
  paths: "files" | "folders" | "none";
  candidates: readonly Candidate[];
}

export const NOTHING: Offer = { paths: "none", candidates: [] };

/** Of these, those that begin with what is typed already. */
export function among(candidates: readonly Candidate[], current: string): Offer {
  return { paths: "none", candidates: candidates.filter(({ value }) => value.startsWith(current)) };
}
