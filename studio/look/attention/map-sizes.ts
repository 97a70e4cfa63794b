// How large the cells of a map are, and how much room its labels get.

const [smallest, largest] = [1, 40];
/** A smaller cell has no label beside it. */
const labelled = 9;
/** Labels get at most so many pixels. */
const longest = 112;

export interface MapSizes {
  readonly cell: number;
  /** Where the cells begin. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Cells as large as the room allows, in whole pixels, and labels where they can be read. A map that is wider than its room is scrolled. */
export function sizesOf(queries: number, keys: number, room: number, letters: number): MapSizes {
  const wanted = Math.min(longest, Math.ceil(8 * letters) + 16);
  const cellWith = (labels: number) =>
    Math.max(smallest, Math.min(largest, Math.floor((room - labels) / keys), Math.floor(640 / queries) || smallest));
  const withLabels = cellWith(wanted);
  const labels = withLabels >= labelled ? wanted : 0;
  const cell = labels > 0 ? withLabels : Math.min(labelled - 1, cellWith(0));
  return { cell, left: labels, top: labels, width: labels + keys * cell, height: labels + queries * cell };
}
