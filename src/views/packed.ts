import { NonFiniteError } from "../base/errors.ts";
import { alignmentOf, meanPattern, rollout } from "../inspection/alignment.ts";
import {
  type AttentionOptions,
  type AttentionReading,
  attentionReading,
  attentionSizes,
  chosen,
  kindsOf,
} from "../inspection/attention.ts";
import type { AttentionKind, AttentionLook } from "../inspection/look.ts";
import { type QueryKeys, queryKeysOf } from "../inspection/query-keys.ts";
import { type HeadSummary, headStatisticsOf } from "../inspection/statistics.ts";
import type { Matrix } from "../pictures/check.ts";
import { type PageHead, packedFloats, packedWeights } from "../pictures/page-data.ts";
import { pooled } from "../pictures/pool.ts";
import type { TrainedModel } from "../trained/trained.ts";

// Attention in few bytes, for an app that draws it itself: all heads small, or the heads of a layer as they are. 12 × 12 heads over 512
// tokens are 38 million weights; as small maps they are half a megabyte, and no more than one head at a time is a list of numbers.

export interface PackedAttention extends Omit<AttentionLook, "layers"> {
  /** The kinds of attention that the model has, the usual one first. */
  readonly kinds: readonly AttentionKind[];
  /** How many layers and heads there are of this kind, whether or not they were asked for. */
  readonly sizes: { readonly layers: number; readonly heads: number };
  /** One cell stands for a square of so many weights a side, and has the strongest of them. */
  readonly side: number;
  readonly layers: readonly { readonly layer: number; readonly heads: readonly PackedHead[] }[];
  /** Of one head that was asked for: its queries and keys, or why there are none. */
  readonly vectors?: PackedVectors | { readonly note: string };
}

export interface PackedHead extends Pick<PageHead, "weights" | "causal"> {
  readonly head: number;
  readonly summary: Omit<HeadSummary, "head"> & {
    /** How many tokens lie, in the mean, between a query and what it looks at. */
    readonly distance?: number;
  };
}

/** Four bytes for each number, [position][dimension]. The score is `scale` times q·k. */
export interface PackedVectors {
  readonly size: number;
  readonly scale: number;
  readonly q: string;
  readonly k: string;
  readonly note?: string;
}

export type PackedView = "attention" | "rollout" | "alignment";

/** With `side`, maps of at most so many cells a side. All weights are in two bytes each, cells that stand for several in one. */
export async function packedAttention(
  run: TrainedModel,
  view: PackedView,
  text: string,
  options: AttentionOptions,
  side?: number,
): Promise<PackedAttention> {
  const reading = await readingFor(run, view, text, options);
  const { tokens, targetTokens, kind, rows } = reading;
  const common = { tokens, targetTokens, kind, ...(rows && { rows }) };
  const head = options.head === undefined || view !== "attention" ? undefined : await queryKeysOf(run, text, { ...options, warn: false });
  const whole = Math.max(tokens.length, targetTokens.length);
  const cell = Math.ceil(whole / (side ?? whole));
  return {
    ...common,
    kinds: kindsOf(run.model),
    sizes: attentionSizes(run.model, kind),
    side: cell,
    layers: reading.layers.map(({ layer, heads }) => ({
      layer,
      heads: heads.map((own) => packedHead(common, own.head, own.pattern(), side ?? whole, cell === 1 ? 65535 : 255)),
    })),
    ...(head && { vectors: "layers" in head ? packedVectors(head) : head }),
  };
}

/** A head as it is; or what comes of all heads, as one head of one layer. */
async function readingFor(run: TrainedModel, view: PackedView, text: string, options: AttentionOptions): Promise<AttentionReading> {
  if (view === "attention") return attentionReading(run, text, options);
  const { layer, head: _, ...rest } = options;
  const { model } = run;
  const usual = view === "rollout" && model.model === "encoder-decoder" ? "encoder" : undefined;
  const means = meansOf(await attentionReading(run, text, { ...rest, kind: options.kind ?? usual }));
  const all = view === "rollout" ? rollout(means, { residual: "residual" in model ? model.residual : model.model === "own" }) : means;
  const [until] = chosen("layer", all.layers.length, layer ?? all.layers.length - 1);
  const pattern = view === "rollout" ? all.layers[until].heads[0].pattern : alignmentOf(all).matrix;
  return { ...all, layers: [{ layer: until, heads: [{ head: 0, pattern: () => pattern }] }] };
}

/** Each layer with the mean of its heads: what is made of the mean of means is what is made of all. */
function meansOf({ layers, ...rest }: AttentionReading): AttentionLook {
  return {
    ...rest,
    layers: layers.map(({ layer, heads }) => ({
      layer,
      heads: [{ head: 0, pattern: meanPattern(heads.map(({ pattern }) => pattern())) }],
    })),
  };
}

function packedHead(look: Omit<AttentionLook, "layers">, head: number, pattern: Matrix, most: number, steps: 255 | 65535): PackedHead {
  const [{ heads }] = headStatisticsOf({ ...look, layers: [{ layer: 0, heads: [{ head, pattern }] }] }).layers;
  const { head: _, ...summary } = heads[0];
  const packed = packedWeights(pooled(pattern, most).rows, steps);
  if (!Number.isFinite(packed.weights.reach))
    throw new NonFiniteError(
      "attention has weights that are NaN or infinite; the weights of the model are damaged, or training went wrong",
    );
  return { head, ...packed, summary: { ...summary, ...distanceOf(look, pattern) } };
}

/** Of rows that are distributions, where queries and keys are of one text. */
function distanceOf({ kind, rows }: Omit<AttentionLook, "layers">, pattern: Matrix): { readonly distance?: number } {
  if (kind === "cross" || rows === "weights") return {};
  const far = pattern.map((row, query) => row.reduce((sum, weight, key) => sum + weight * Math.abs(query - key), 0));
  return { distance: far.reduce((a, b) => a + b, 0) / far.length };
}

const packedVectors = ({ layers: [[{ q, k }]], scale, note }: QueryKeys): PackedVectors => ({
  size: q[0].length,
  scale,
  q: packedFloats(q),
  k: packedFloats(k),
  ...(note && { note }),
});
