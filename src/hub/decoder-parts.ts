import type { Architecture } from "../models/any.ts";
import type { DecoderConfig } from "../models/config.ts";
import type { ConfigReader } from "./config-reader.ts";
import { type Family, joined, type Piece, type TensorRule, type Turn } from "./family.ts";

// What the tables of several decoders share.

/** The sizes that shapes of tensors are made of. */
export interface Sizes {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** Of a head. */
  readonly size: number;
  readonly hidden: number;
}

export function sizesOf({ layers, width, heads, kvHeads = heads, keySize = width / heads, hidden = 4 * width }: Blocks): Sizes {
  return { layers, width, heads, kvHeads, size: keySize, hidden };
}

type Blocks = Pick<DecoderConfig, "layers" | "width" | "heads" | "kvHeads" | "keySize" | "hidden">;

export type Decoder = DecoderConfig;

/** A family that is written only where a model came as one, with the head that it came with. */
export const asItCame =
  (name: string): Family["write"] =>
  (model, { original }) => {
    if (!original) return { reasons: [`only a model that came as ${name} is written as one`] };
    return model.model === "decoder" ? { config: original } : { reasons: [`it came as ${name} and writes no text any more`] };
  };

/** What norms add under the root. */
export const epsilonOf = ({ norm, epsilon = norm === "rms" ? 1e-6 : 1e-5 }: Pick<DecoderConfig, "norm" | "epsilon">): number => epsilon;

/** Tables of decoders are only ever asked for decoders: `read` made the model, or `write` refused it. */
export const asDecoder = (model: Architecture): DecoderConfig => model as DecoderConfig;

/** The query's, key's and value's tensors of theirs as the one that ours is. `name` gives theirs of "q", "k" and "v". */
export function joinedHeads(
  ours: string,
  { width, heads, kvHeads, size }: Sizes,
  name: (which: "q" | "k" | "v") => string,
  bias: boolean,
): TensorRule[] {
  const rows = { q: heads * size, k: kvHeads * size, v: kvHeads * size } as const;
  const pieces = (end: string, shape: (rows: number) => number[]): Piece[] =>
    (["q", "k", "v"] as const).map((which) => ({ name: `${name(which)}.${end}`, shape: shape(rows[which]) }));
  const weight = joined(
    `${ours}/weight`,
    pieces("weight", (count) => [count, width]),
  );
  return bias
    ? [
        weight,
        joined(
          `${ours}/bias`,
          pieces("bias", (count) => [count]),
        ),
      ]
    : [weight];
}

/** Their rows go [head, q k v, size]; ours [q k v, head, size]. */
export function byHead(heads: number, size: number): Turn {
  const rows: number[] = [];
  for (let part = 0; part < 3; part++)
    for (let head = 0; head < heads; head++) for (let i = 0; i < size; i++) rows.push((head * 3 + part) * size + i);
  return { kind: "rows", rows };
}

/** The size of a head, where it does not follow from the width. */
export function headSizes(
  hf: ConfigReader,
  width: number,
  heads: number,
  usual?: number,
): { readonly keySize?: number; readonly valueSize?: number } {
  const size = hf.wholeOrNone("head_dim") ?? usual;
  return size === undefined || size * heads === width ? {} : { keySize: size, valueSize: size };
}

const olderRotary = ["rope_scaling", "rope_theta", "rotary_emb_base", "partial_rotary_factor", "rotary_pct"] as const;

/** Rotary positions. transformers 5 writes `rope_parameters`; before it, `rope_theta` and `rope_scaling` stood beside each other. */
export function rotaryOf(hf: ConfigReader, usual: { readonly base?: number; readonly share?: number } = {}): Record<string, unknown> {
  const parameters = hf.part("rope_parameters");
  const base = parameters?.numberOrNone("rope_theta") ?? hf.number(["rope_theta", "rotary_emb_base"], usual.base ?? 10_000);
  const share = parameters?.numberOrNone("partial_rotary_factor") ?? hf.number(["partial_rotary_factor", "rotary_pct"], usual.share ?? 1);
  const scaling = parameters ?? hf.part("rope_scaling");
  if (parameters) for (const key of olderRotary) hf.value(key); // the same again, where a file has both
  return {
    positions: "rotary",
    ropeBase: base,
    ...(share !== 1 && { ropeShare: share }),
    ...(scaling && scalingOf(scaling, hf)),
  };
}

export function scalingOf(scaling: ConfigReader, hf: ConfigReader): Record<string, unknown> {
  const kind = scaling.choice(["rope_type", "type"], { default: "none", linear: "linear", llama3: "llama3" } as const, "default");
  scaling.value("type"); // older files have both names
  if (kind === "none") {
    scaling.value("factor", "original_max_position_embeddings");
    return {};
  }
  const ropeFactor = scaling.number("factor");
  if (kind === "linear") {
    scaling.value("original_max_position_embeddings");
    return { ropeScaling: kind, ropeFactor };
  }
  return {
    ropeScaling: kind,
    ropeFactor,
    ropeLowFactor: scaling.number("low_freq_factor"),
    ropeHighFactor: scaling.number("high_freq_factor"),
    ropeOriginal: scaling.whole("original_max_position_embeddings", hf.whole("max_position_embeddings", 8192)),
  };
}

/**
 * Which layers see only the last tokens. Newer files list the kind of every layer; ours are all alike, or every nth is without a window.
 * `usual` is the n of files without a list.
 */
export function windowOf(hf: ConfigReader, layers: number, window: number | undefined, usual?: number): Record<string, unknown> {
  const kinds = hf.value("layer_types");
  if (window === undefined) return {};
  const plain = { window, ...(usual !== undefined && { windowEvery: usual }) };
  if (!Array.isArray(kinds)) return plain;
  const full = kinds.map((kind) => kind === "full_attention");
  if (kinds.length !== layers || kinds.some((kind, i) => !full[i] && kind !== "sliding_attention")) {
    hf.problem(
      `layer_types has ${kinds.length} entries of ${[...new Set(kinds)].slice(0, 4).join(", ")}; wanted full_attention or sliding_attention for each of ${layers} layers`,
    );
    return plain;
  }
  if (full.every((one) => one)) return {};
  if (!full.includes(true)) return { window, ...(usual !== undefined && usual > layers && { windowEvery: usual }) };
  const every = full.indexOf(true) + 1;
  if (full.some((one, i) => one !== ((i + 1) % every === 0)))
    hf.problem(
      `layer_types lets ${full.filter((one) => one).length} of ${layers} layers see everything in no regular order; every nth is wanted`,
    );
  return { window, windowEvery: every };
}
