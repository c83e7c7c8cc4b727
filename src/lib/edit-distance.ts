export function editDistance(from: string, to: string): number {
  const target = Array.from(to);
  let row = [0, ...target.map((_, column) => column + 1)];
  for (const letter of from) row = nextRow(row, letter, target);
  return row.at(-1) ?? 0;
}

function nextRow(above: readonly number[], letter: string, target: readonly string[]): number[] {
  let diagonal = Number.POSITIVE_INFINITY;
  let left = Number.POSITIVE_INFINITY;
  return above.map((up, column) => {
    const replacementCost = diagonal + (target[column - 1] === letter ? 0 : 1);
    left = Math.min(replacementCost, up + 1, left + 1);
    diagonal = up;
    return left;
  });
}
