import type { Matrix } from "./check.ts";
import { tokenMatrix } from "./token-matrix.ts";

export interface AttentionMap {
  /** The keys: columns. */
  readonly tokens: readonly string[];
  /** The queries: rows. */
  readonly targetTokens: readonly string[];
  /** [query][key] */
  readonly pattern: Matrix;
  readonly title?: string;
}

/** One head: where each query looks. */
export const attentionMap = ({ title = "Attention", ...map }: AttentionMap): string =>
  tokenMatrix({ title, ...map, rowWord: "query", columnWord: "key" });

/** Which source tokens (along the top) a decoder looked at for each target token (down the side), as Bahdanau et al. draw it. */
export const alignment = ({ title = "Alignment", ...map }: AttentionMap): string =>
  tokenMatrix({ title, ...map, rowWord: "target", columnWord: "source" });
