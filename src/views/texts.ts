import { type Alignment, type Attended, meanPattern } from "../inspection/alignment.ts";
import type { Candidate, Next } from "../inspection/answers.ts";
import type { Attribution } from "../inspection/attribution.ts";
import type { GeometryPanel } from "../inspection/geometry.ts";
import type { Lens } from "../inspection/lens.ts";
import type { AttentionLook } from "../inspection/look.ts";
import type { PathLength, Steps } from "../inspection/path-length.ts";
import type { Positions } from "../inspection/positions.ts";
import { type AttentionStatistics, type HeadSummary, headStatisticsOf } from "../inspection/statistics.ts";
import type { Tagged } from "../inspection/tags.ts";
import { attentionText } from "../pictures/attention-text.ts";
import { titleOf } from "../pictures/attribution.ts";
import { curve } from "../pictures/curve-text.ts";
import { cellsOf, prose, shortened, visible } from "../pictures/label.ts";
import type { LossSeries } from "../pictures/loss-curves.ts";
import { decimal, decimalsFor } from "../pictures/number.ts";

// The views of `qkv look` as text for a terminal.

export interface Terminal {
  readonly columns: number;
  readonly colour: boolean;
}

/** A map for each layer: its only head, or the mean of its heads. */
export function attention(look: AttentionLook, terminal: Terminal): string {
  const summaries = headStatisticsOf(look);
  const blocks = look.layers.map(({ layer, heads }, i) => {
    const title = heads.length === 1 ? `layer ${layer}, head ${heads[0].head}` : `layer ${layer}, the mean of ${heads.length} heads`;
    const map = attentionText(meanPattern(heads.map(({ pattern }) => pattern)), look.tokens, look.targetTokens, terminal);
    return [`${title}: rows look at columns`, map, ...summaries.layers[i].heads.map(summary)].join("\n");
  });
  return blocks.join("\n\n");
}

const share = (name: string, value: number | undefined): string[] => (value === undefined ? [] : [`${name} ${value.toFixed(2)}`]);

function summary({ head, entropy, effective, previous, first, diagonal, same }: HeadSummary): string {
  const shares = [share("previous", previous), share("first", first), share("diagonal", diagonal), share("same token", same)].flat();
  const spread = entropy === undefined ? [] : [`entropy ${entropy.toFixed(2)} (${effective?.toFixed(1)} tokens)`];
  return [`head ${head}`, ...spread, ...shares].join("  ");
}

export const statistics = ({ layers }: AttentionStatistics): string =>
  layers.flatMap(({ layer, heads }) => heads.map((head) => `layer ${layer}  ${summary(head)}`)).join("\n");

export const attended = (found: readonly Attended[], targetTokens: readonly string[]): string =>
  [
    `${visible(targetTokens[found[0].query])} (place ${found[0].query}) attends most to`,
    ...found.map(
      ({ layer, head, key, token, weight }) => `layer ${layer}  head ${head}  ${weight.toFixed(2)}  ${visible(token)} (place ${key})`,
    ),
  ].join("\n");

export function alignment({ matrix, tokens, targetTokens, path }: Alignment, terminal: Terminal): string {
  const pairs = path.map((key, i) => `${visible(targetTokens[i])}←${visible(tokens[key])}`).join("  ");
  return `${attentionText(matrix, tokens, targetTokens, terminal)}\n${pairs}`;
}

const percent = ({ probability }: Candidate): string => `${(100 * probability).toFixed(0)}%`;

/** One row for each position, one column for each layer, with the likeliest answer. */
export function lens({ layers }: Lens, { columns }: Terminal): string {
  const width = Math.max(10, Math.min(20, Math.floor((columns - 14) / layers.length) - 2));
  const cell = (text: string) => text + " ".repeat(Math.max(0, width - cellsOf(text)));
  const heading = ["".padEnd(12), ...layers.map(({ layer }) => cell(`layer ${layer}`))];
  const rows = layers[0].positions.map(({ token }, position) => {
    const name = shortened(token, 12);
    const answers = layers.map(({ positions }) => {
      const [best] = positions[position].top;
      return cell(`${shortened(best.token, width - 5)} ${percent(best)}`);
    });
    return [name + " ".repeat(Math.max(0, 12 - cellsOf(name))), ...answers];
  });
  return [heading, ...rows].map((row) => row.join("  ").trimEnd()).join("\n");
}

/** A row for each token: a bar to the right speaks for the answer, one to the left against it. */
export function attribution({ answer, parts }: Attribution, { columns }: Terminal): string {
  const name = Math.min(16, Math.max(...parts.flatMap(({ tokens }) => tokens.map((token) => cellsOf(shortened(token, 16))))));
  const half = Math.max(4, Math.min(12, Math.floor((columns - name - 26) / 4)));
  const most = (key: "gradient" | "leaveOneOut") => Math.max(...parts.flatMap((part) => part[key].map(Math.abs)), 1e-12);
  const reach = { gradient: most("gradient"), leaveOneOut: most("leaveOneOut") };
  const cell = (value: number, key: keyof typeof reach) => {
    const length = Math.round((half * Math.abs(value)) / reach[key]);
    const [left, right] = value < 0 ? [length, 0] : [0, length];
    return `${decimal(value, decimalsFor(reach[key]) + 1).padStart(8)} ${" ".repeat(half - left)}${"▒".repeat(left)}│${"█".repeat(right)}${" ".repeat(half - right)}`;
  };
  const wide = 10 + 2 * half;
  const lines = parts.flatMap(({ of, tokens, gradient, leaveOneOut }) => [
    ...(parts.length > 1 ? [`${of}:`] : []),
    ...tokens.map((token, i) => {
      const label = shortened(token, 16);
      return `${label}${" ".repeat(name - cellsOf(label))}  ${cell(gradient[i], "gradient")}  ${cell(leaveOneOut[i], "leaveOneOut")}`.trimEnd();
    }),
  ]);
  const heads = `${" ".repeat(name)}  ${"gradient × input (nats)".padEnd(wide)}  leave one out (probability)`;
  return [titleOf(answer), heads, ...lines].join("\n");
}

export function tags({ tokens, tags: found, probabilities }: Tagged): string {
  const names = tokens.map((token) => shortened(token, 16));
  const width = Math.max(...names.map(cellsOf));
  return names
    .map((name, i) => `${name}${" ".repeat(width - cellsOf(name))}  ${(100 * probabilities[i]).toFixed(0).padStart(3)} %  ${found[i]}`)
    .join("\n");
}

const barRoom = 40;

export function next({ prompt, candidates }: Next): string {
  const names = candidates.map(({ token }) => shortened(token, 16));
  const width = Math.max(...names.map(cellsOf));
  const lines = candidates.map(({ probability }, i) => {
    const bar = "█".repeat(Math.round(barRoom * probability));
    return `${names[i]}${" ".repeat(width - cellsOf(names[i]))}  ${(100 * probability).toFixed(1).padStart(5)} %  ${bar}`.trimEnd();
  });
  return [prose(prompt, 60, "end"), ...lines].join("\n");
}

export const geometry = (panels: readonly GeometryPanel[]): string =>
  panels
    .map(({ title, keys, facts: { width, shortest, longest, alongOnes, selectable } }) =>
      [
        title,
        `  lengths ${shortest.toFixed(3)} to ${longest.toFixed(3)} (√width is ${Math.sqrt(width).toFixed(3)}), along the 1-vector at most ${alongOnes.toFixed(3)} of a length`,
        `  ${selectable} of ${keys.length} keys can be selected by some query${keys.length <= width ? ", as so few in so many dimensions nearly always can" : ""}`,
      ].join("\n"),
    )
    .join("\n");

export function positions({ title, table }: Positions, terminal: Terminal): string {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);
  return `${title}\n${attentionText(table, numbers(table[0].length), numbers(table.length), terminal)}`;
}

export function path(lengths: readonly (PathLength & { readonly n: number })[]): string {
  const steps = ({ counted, formula }: Steps) => `${counted} = ${formula}`;
  const rows = [
    ["n", "steps from token to token", "products that wait for each other"],
    ...lengths.map(({ n, path: between, sequential }) => [`${n}`, steps(between), steps(sequential)]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column]))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

export const losses = (series: readonly LossSeries[], { columns }: Terminal): string =>
  series
    .map(({ name, points }) => {
      const last = points[points.length - 1];
      const drawn = curve(
        points.map(({ loss }) => loss),
        { width: Math.min(72, columns - 8) },
      );
      return [`${name}: ${last.loss.toFixed(4)} at step ${last.step.toLocaleString("en")}`, ...(drawn === "" ? [] : [drawn])].join("\n");
    })
    .join("\n\n");
