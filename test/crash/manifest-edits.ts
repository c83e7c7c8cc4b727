import { pick } from "../support/random.ts";
import type { Row } from "./batch-scenarios.ts";

/** The same rows in another order (Fisher and Yates). */
export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const mixed = [...items];
  for (let left = mixed.length; left > 1; left--) {
    const at = Math.floor(random() * left);
    const last = mixed[left - 1] as Item;
    mixed[left - 1] = mixed[at] as Item;
    mixed[at] = last;
  }
  return mixed;
}

/**
 * What a person does to a manifest between two runs: puts its rows in another order, adds a few, takes one out.
 * @param everAsked every row that was ever in it; gets the new ones too
 */
export function editedRows(rows: readonly Row[], everAsked: Row[], random: () => number): Row[] {
  const added = Array.from({ length: Math.floor(random() * 4) }, (_, at): Row => {
    return { prompt: `an owl ${everAsked.length + at}` };
  });
  everAsked.push(...added);
  // Equal rows cannot be told apart, so none of them is removed.
  const unlike = rows.filter(({ prompt }) => rows.filter((row) => row.prompt === prompt).length === 1);
  const removed = pick(unlike, random);
  return shuffled([...rows.filter((row) => row !== removed), ...added], random);
}
