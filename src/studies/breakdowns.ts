import { type Comparison, comparison } from "../pictures/comparison.ts";
import type { Results, RowResult } from "./results.ts";
import type { Row, Study } from "./study.ts";

// What was measured by length, by distance or by place: one table and one picture for each.

/** A row that is measured. */
export interface Found {
  readonly row: Row;
  readonly result: RowResult;
}

export const measuredRows = ({ rows }: Study, results: Results): Found[] =>
  rows.flatMap((row) => (Object.hasOwn(results.rows, row.name) ? [{ row, result: results.rows[row.name] }] : []));

export function breakdowns(found: readonly Found[]): Comparison[] {
  return together(found.map(({ result }) => result.breakdowns)).map((title) => {
    const own = found.filter(({ result }) => Object.hasOwn(result.breakdowns, title));
    const columns = together(own.map(({ result }) => result.breakdowns[title]));
    const series = own.map(({ row, result }) => ({ name: row.name, values: columns.map((column) => result.breakdowns[title][column]) }));
    return { title, columns, series };
  });
}

/** A picture for each breakdown, by the name of its file: `word-error-rate-by-letters-of-the-word.svg`. */
export function studyPictures(study: Study, results: Results): { readonly file: string; readonly svg: string }[] {
  const drawn = breakdowns(measuredRows(study, results)).filter(({ columns }) => columns.length > 1);
  return drawn.map((one) => ({ file: `${fileName(one.title)}.svg`, svg: comparison(one) }));
}

const fileName = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

/** All names, in the order in which they come first. */
export const together = (records: readonly Readonly<Record<string, unknown>>[]): string[] => [
  ...new Set(records.flatMap((record) => Object.keys(record))),
];
