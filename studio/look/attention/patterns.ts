import { type Pattern, scaled } from "../../../page/pattern.ts";
import { weightsOf } from "../../../src/pictures/page-data.ts";
import type { PackedAttention, PackedHead } from "../../../src/views/packed.ts";

// What was asked for as bytes, as weights that can be drawn.

type Sized = Pick<PackedAttention, "tokens" | "targetTokens" | "side">;

export function patternOf({ tokens, targetTokens, side }: Sized, head: PackedHead): Pattern {
  const [queries, keys] = [Math.ceil(targetTokens.length / side), Math.ceil(tokens.length / side)];
  return scaled(queries, keys, weightsOf(head, queries, keys));
}

/** The mean over heads. */
export function meanOf(look: Sized, heads: readonly PackedHead[]): Pattern {
  const [first, ...others] = heads.map((head) => patternOf(look, head));
  if (others.length === 0) return first;
  const sum = Float32Array.from(first.weights);
  for (const { weights } of others) for (let i = 0; i < sum.length; i++) sum[i] += weights[i];
  return scaled(
    first.queries,
    first.keys,
    sum.map((weight) => weight / heads.length),
  );
}

/** As lists of numbers, [query][key], with the digits that there are. */
export const rowsOf = ({ queries, keys, weights }: Pattern): number[][] =>
  Array.from({ length: queries }, (_, query) =>
    Array.from(weights.subarray(query * keys, (query + 1) * keys), (weight) => Number(weight.toPrecision(5))),
  );
