import type { Measures } from "../evaluation/evaluate.ts";
import type { LabelMeasures, SeveralMeasures } from "../evaluation/label-measures.ts";
import type { ClassScores } from "../metrics/classification.ts";
import { confusedPairs } from "../metrics/confused.ts";
import { cellsOf, prose } from "../pictures/label.ts";
import { table } from "./table.ts";

// What `qkv eval` prints: a line for each measure, and for labels the scores of each and what was taken for what.

type Result = Measures & { readonly seconds: number };

/** Columns of the terminal. */
export interface Room {
  readonly columns: number;
}

const rounded = (value: number): string => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(4));

export function report(result: Result, room: Room): string {
  const lines = Object.entries(result)
    .filter(([, value]) => typeof value === "number")
    .map(([name, value]) => `${name.padEnd(16)}${rounded(value as number)}`);
  if (!("classes" in result)) return lines.join("\n");
  const parts = [lines.join("\n"), classTable(result)];
  if ("spans" in result && result.spans && result.spans.length > 0) parts.push(spanTable(result.spans));
  if ("micro" in result) return parts.join("\n\n");
  return [...parts, ...confusionParts(result, room)].join("\n\n");
}

const mostClasses = 40;
const longestName = 24;
const share = (value: number): string => value.toFixed(4);
const scoreCells = ({ precision, recall, f1, support }: ClassScores): string[] => [
  share(precision),
  share(recall),
  share(f1),
  support.toLocaleString("en"),
];

/** Of many labels, those with the lowest F1. */
function classTable(result: LabelMeasures | SeveralMeasures): string {
  const { classes, macro, weighted } = result;
  const worst = [...classes.keys()].sort((a, b) => classes[a].f1 - classes[b].f1 || a - b).slice(0, mostClasses);
  const shown = worst.sort((a, b) => a - b).map((i) => classes[i]);
  const support = classes.reduce((sum, one) => sum + one.support, 0);
  const means = { ...("micro" in result && { "micro average": result.micro }), "macro average": macro, "weighted average": weighted };
  const rows = [
    ...shown.map((one) => [prose(one.label, longestName), ...scoreCells(one)]),
    ...Object.entries(means).map(([name, scores]) => [name, ...scoreCells({ ...scores, support })]),
  ];
  const rest = classes.length - shown.length;
  const best = Math.max(...shown.map(({ f1 }) => f1));
  const note = rest > 0 ? `\n… and ${rest} more labels with an F1 of ${share(best)} or more; --json has all of them` : "";
  return `${table(["label", "precision", "recall", "f1", "support"], rows)}${note}`;
}

const spanTable = (spans: NonNullable<LabelMeasures["spans"]>): string =>
  table(
    ["spans", "precision", "recall", "f1", "support"],
    spans.map((one) => [prose(one.type, longestName), ...scoreCells(one)]),
  );

const mostPairs = 10;
const longestLabel = 12;

/** The whole matrix, if it fits, and of more than a few labels the most frequent mistakes. */
function confusionParts(result: LabelMeasures, { columns }: Room): string[] {
  const matrix = confusionTable(result);
  const fits = Math.max(...matrix.split("\n").map(cellsOf)) <= columns;
  return [...(fits ? [matrix] : []), ...(fits && result.labels.length <= 4 ? [] : confusedTable(result))];
}

function confusionTable({ confusion, labels }: LabelMeasures): string {
  const names = labels.map((label) => prose(label, longestLabel));
  const cells = [
    ["true \\ found", ...names],
    ...confusion.map((row, i) => [names[i], ...row.map((times) => (times === 0 ? "·" : `${times}`))]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => cellsOf(row[column]))));
  return cells.map((row) => row.map((cell, column) => " ".repeat(widths[column] - cellsOf(cell)) + cell).join("  ")).join("\n");
}

function confusedTable({ confusion, labels }: LabelMeasures): string[] {
  const pairs = confusedPairs(confusion);
  if (pairs.length === 0) return [];
  const rows = pairs
    .slice(0, mostPairs)
    .map(({ truth, found, times, share: of }) => [
      `${prose(labels[truth], longestName)} → ${prose(labels[found], longestName)}`,
      times.toLocaleString("en"),
      `${(100 * of).toFixed(1)} %`,
    ]);
  const note = pairs.length > mostPairs ? `\n… and ${pairs.length - mostPairs} more pairs; --json and --out have all of them` : "";
  return [`${table(["most confused: true → found", "times", "of the true"], rows)}${note}`];
}
