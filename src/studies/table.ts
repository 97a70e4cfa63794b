import { breakdowns, type Found, measuredRows, together } from "./breakdowns.ts";
import type { Results } from "./results.ts";
import { spanText } from "./settings.ts";
import type { Study } from "./study.ts";

// Results as Markdown: one table of figures, one for each breakdown, and what the rows are.

export function studyTable(study: Study, results: Results): string {
  const found = measuredRows(study, results);
  const left = study.rows.filter(({ name }) => !Object.hasOwn(results.rows, name));
  const parts = [
    `# ${study.name}`,
    `${study.teaches} Trained for ${spanText(results)}.`,
    ...(found.length > 0 ? [mainTable(found)] : []),
    ...breakdownTables(found),
    study.rows.map(({ name, what }) => `- ${name}: ${what}`).join("\n"),
    ...found.flatMap(({ row, result }) => (result.failed === undefined ? [] : [`${row.name} has no figures: ${result.failed}`])),
    ...found.flatMap((one) => unequal(one, results)),
    ...(left.length > 0 ? [`Not trained yet: ${left.map(({ name }) => name).join(", ")}`] : []),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A trial is short, and a machine that others use too changes its speed. */
const tolerance = 0.05;

function unequal({ row, result }: Found, { minutes }: Results): string[] {
  if (minutes === undefined || result.failed !== undefined) return [];
  const share = result.seconds / (60 * minutes);
  return Math.abs(share - 1) > tolerance
    ? [`${row.name} had ${Math.round(100 * share)} % of its time: its trial foretold another speed.`]
    : [];
}

function mainTable(found: readonly Found[]): string {
  const figures = together(found.map(({ result }) => result.figures));
  const training = ["validation loss", "parameters", "tokens/s", "steps", "seconds"];
  const cells = found.map(({ row, result }) => {
    const { validLoss, parameters, tokensPerSecond, steps, seconds } = result;
    const facts = [validLoss ?? undefined, parameters, Math.round(tokensPerSecond), steps, Math.round(seconds)];
    return [row.name, ...[...figures.map((name) => result.figures[name]), ...facts].map(shown)];
  });
  return markdown(["", ...figures, ...training], cells);
}

const breakdownTables = (found: readonly Found[]): string[] =>
  breakdowns(found).map(({ title, columns, series }) => {
    const cells = series.map(({ name, values }) => [name, ...values.map(shown)]);
    return `${title}:\n\n${markdown(["", ...columns], cells)}`;
  });

/** 0.3017, 23.46, 1,500, 3.1e-7, and a dash for what is not there. */
export function shown(value: number | undefined): string {
  if (value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (Math.abs(value) < 0.001) return value.toExponential(1);
  return Math.abs(value) < 10 ? value.toFixed(4) : value.toFixed(2);
}

function markdown(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) => Math.max(3, name.length, ...rows.map((row) => row[column].length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join(" | ")} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(header), rule, ...rows.map(line)].join("\n");
}
