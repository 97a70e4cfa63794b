import type { AttentionLook } from "./look.ts";

type Pattern = readonly (readonly number[])[];

/** What a head does, in a few numbers: means over its queries. Not there: a measure that makes no sense for this attention or text. */
export interface HeadSummary {
  readonly head: number;
  /** Of a row that is a distribution, in nats: 0 for one token, ln n for n tokens alike. */
  readonly entropy?: number;
  /** How many tokens that is: e^entropy. */
  readonly effective?: number;
  /** Share of the token before the query. */
  readonly previous?: number;
  /** Share of the first token. */
  readonly first: number;
  /** Share of the query's own token. */
  readonly diagonal?: number;
  /** Share of other visible tokens that are the same as the query's, over the queries that have any. */
  readonly same?: number;
}

export interface AttentionStatistics {
  readonly layers: readonly { readonly layer: number; readonly heads: readonly HeadSummary[] }[];
}

export function headStatisticsOf(look: AttentionLook): AttentionStatistics {
  return {
    layers: look.layers.map(({ layer, heads }) => ({
      layer,
      heads: heads.map(({ head, pattern }) => ({ head, ...statisticsOf(pattern, look) })),
    })),
  };
}

function statisticsOf(pattern: Pattern, { tokens, targetTokens, kind, rows = "distributions" }: AttentionLook): Omit<HeadSummary, "head"> {
  const entropy = rows === "distributions" ? (mean(pattern.map(entropyOf)) ?? 0) : undefined;
  const own = kind !== "cross";
  return {
    ...(entropy !== undefined && { entropy, effective: Math.exp(entropy) }),
    ...(own && defined("previous", mean(pattern.slice(1).map((row, i) => row[i])))),
    first: mean(pattern.map((row) => row[0])) ?? 0,
    ...(own && defined("diagonal", mean(pattern.map((row, i) => row[i])))),
    ...defined("same", mean(sameTokenShares(pattern, tokens, targetTokens, own))),
  };
}

const entropyOf = (row: readonly number[]): number => row.reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0);

function sameTokenShares(pattern: Pattern, tokens: readonly string[], targetTokens: readonly string[], own: boolean): number[] {
  const causal = own && isCausal(pattern);
  return pattern.flatMap((row, query) => {
    const same = row.filter((_, key) => tokens[key] === targetTokens[query] && !(own && key === query) && !(causal && key > query));
    return same.length > 0 ? [same.reduce((a, b) => a + b)] : [];
  });
}

/** Whether no query sees a later key. */
const isCausal = (pattern: Pattern): boolean => pattern.every((row, query) => row.every((p, key) => key <= query || p === 0));

const mean = (numbers: readonly number[]): number | undefined =>
  numbers.length > 0 ? numbers.reduce((a, b) => a + b) / numbers.length : undefined;

const defined = <Name extends string>(name: Name, value: number | undefined): { readonly [K in Name]?: number } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [K in Name]: number });
