import type { AttentionMap } from "./attention-map.ts";
import { tokenMatrix } from "./token-matrix.ts";

/** Which source tokens (along the top) a decoder looked at for each target token (down the side), as Bahdanau et al. draw it. */
export const alignment = ({ title = "Alignment", ...map }: AttentionMap): string =>
  tokenMatrix({ title, ...map, rowWord: "target", columnWord: "source" });
