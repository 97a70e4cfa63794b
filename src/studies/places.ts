// Where in a text the mistakes are: which of the reference's units an answer has, by the alignment with the fewest edits.

/** For each unit of the reference, whether the answer has it in its place. */
export function unitsFound<T>(answer: readonly T[], reference: readonly T[]): boolean[] {
  const [rows, columns] = [answer.length + 1, reference.length + 1];
  const edits = Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)));
  for (let i = 1; i < rows; i++) {
    for (let j = 1; j < columns; j++) {
      const replaced = edits[i - 1][j - 1] + (answer[i - 1] === reference[j - 1] ? 0 : 1);
      edits[i][j] = Math.min(replaced, edits[i - 1][j] + 1, edits[i][j - 1] + 1);
    }
  }
  const hits = new Array<boolean>(reference.length).fill(false);
  let [i, j] = [answer.length, reference.length];
  while (i > 0 && j > 0) {
    const same = answer[i - 1] === reference[j - 1];
    if (edits[i][j] === edits[i - 1][j - 1] + (same ? 0 : 1)) {
      hits[j - 1] = same;
      [i, j] = [i - 1, j - 1];
    } else if (edits[i][j] === edits[i - 1][j] + 1) i--;
    else j--;
  }
  return hits;
}

export interface Compared {
  readonly answer: readonly string[];
  readonly reference: readonly string[];
}

const parts = 5;

/** The share of the references' units that the answers do not have, by where they stand: in the first fifth of the text, … the last. */
export function errorByPlace(pairs: readonly Compared[]): Record<string, number> {
  const [wrong, all] = [new Array<number>(parts).fill(0), new Array<number>(parts).fill(0)];
  for (const { answer, reference } of pairs) {
    for (const [place, hit] of unitsFound(answer, reference).entries()) {
      const part = Math.floor((parts * (place + 0.5)) / reference.length);
      all[part]++;
      if (!hit) wrong[part]++;
    }
  }
  const name = (part: number) => `${(100 * part) / parts}–${(100 * (part + 1)) / parts} %`;
  return Object.fromEntries(all.flatMap((count, part) => (count === 0 ? [] : [[name(part), wrong[part] / count]])));
}
