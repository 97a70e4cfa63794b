import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { highest } from "../generation/sampling.ts";
import type { AttentionLook } from "./look.ts";

type Pattern = readonly (readonly number[])[];

export interface Alignment {
  readonly tokens: readonly string[];
  readonly targetTokens: readonly string[];
  /** The mean over all heads that were looked at, [target][source]. */
  readonly matrix: Pattern;
  /** For each target token, the place of the source token with most weight. */
  readonly path: readonly number[];
}

/** Which source token each target token comes from. */
export function alignmentOf({ tokens, targetTokens, layers }: AttentionLook): Alignment {
  const matrix = meanPattern(layers.flatMap(({ heads }) => heads.map(({ pattern }) => pattern)));
  return { tokens, targetTokens, matrix, path: matrix.map(highest) };
}

/** The mean of patterns of one size. */
export function meanPattern(patterns: readonly Pattern[]): Pattern {
  const [first, ...others] = patterns;
  if (others.length === 0) return first;
  return first.map((row, i) => {
    const sums = [...row];
    for (const { [i]: other } of others) for (let j = 0; j < sums.length; j++) sums[j] += other[j];
    return sums.map((sum) => sum / patterns.length);
  });
}

/**
 * Attention rollout (Abnar & Zuidema 2020): how much of each input token reaches each position after each layer, if heads are averaged,
 * a residual connection counts as half of what passes, and layers are multiplied. Each layer has one head, the rollout so far.
 */
export function rollout(look: AttentionLook, { residual = true }: { readonly residual?: boolean } = {}): AttentionLook {
  if (look.kind === "cross")
    throw new ConfigError("a rollout multiplies layers of self-attention; look at the kind self or encoder for it");
  let before: Pattern | undefined;
  const layers = look.layers.map(({ layer, heads }) => {
    const mixed = meanPattern(heads.map(({ pattern }) => pattern));
    const step = (residual ? withIdentity(mixed) : mixed).map(toOne);
    before = before ? product(step, before) : step;
    return { layer, heads: [{ head: 0, pattern: before }] };
  });
  return { ...look, layers };
}

const withIdentity = (pattern: Pattern): Pattern => pattern.map((row, i) => row.map((p, j) => (p + (i === j ? 1 : 0)) / 2));

/** Rows of linear attention do not sum to one by themselves. */
function toOne(row: readonly number[]): readonly number[] {
  const total = row.reduce((a, b) => a + b, 0);
  return total === 0 ? row : row.map((p) => p / total);
}

/** Row by row, without what is 0: of a causal pattern, most of the work. */
function product(a: Pattern, b: Pattern): Pattern {
  const rows = b.map((row) => Float64Array.from(row).subarray(0, row.findLastIndex((p) => p !== 0) + 1));
  return a.map((row) => {
    const sums = new Float64Array(b[0].length);
    for (let k = 0; k < row.length; k++) {
      const [share, other] = [row[k], rows[k]];
      if (share !== 0) for (let j = 0; j < other.length; j++) sums[j] += share * other[j];
    }
    return Array.from(sums);
  });
}

export interface Attended {
  readonly query: number;
  readonly layer: number;
  readonly head: number;
  readonly key: number;
  readonly token: string;
  readonly weight: number;
}

/** The coreference look: the token that a query (its place, or its text where it occurs once) attends to most, by layer and head. */
export function attendedBy(look: AttentionLook, query: number | string): Attended[] {
  const row = typeof query === "number" ? query : placeOf(look.targetTokens, query);
  if (!Number.isInteger(row) || row < 0 || row >= look.targetTokens.length)
    throw new ConfigError(`there is no token at place ${row}; the text has ${look.targetTokens.length}, counted from 0`);
  return look.layers.flatMap(({ layer, heads }) =>
    heads.map(({ head, pattern }) => {
      const key = highest(pattern[row]);
      return { query: row, layer, head, key, token: look.tokens[key], weight: pattern[row][key] };
    }),
  );
}

function placeOf(tokens: readonly string[], token: string): number {
  const places = tokens.flatMap((found, i) => (found === token ? [i] : []));
  if (places.length === 1) return places[0];
  if (places.length > 1) throw new ConfigError(`"${token}" occurs at the places ${places.join(", ")}; give one of these numbers`);
  throw new ConfigError(`no token is "${token}"${suggest(token, tokens) || `; there are ${tokens.slice(0, 20).join(", ")}`}`);
}
