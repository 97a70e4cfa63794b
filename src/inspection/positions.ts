import { array, elementCount, type HostArray } from "../base/arrays.ts";
import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { tensorFunction } from "../graph/graph.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32 } from "../graph/type.ts";
import { attentionPositions, positioned, relativeTable, turnedSize } from "../layers/positions.ts";
import { described, type Transformer, transformerOf } from "../models/any.ts";
import { decoderSide } from "../models/config.ts";
import { headSizes } from "../models/continuation.ts";
import { blockConfig } from "../models/transformer.ts";
import { compile } from "../runtime/compile.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { rowsOf } from "./answers.ts";
import { attentionPlace, stackPlace } from "./attention.ts";

export interface Positions {
  readonly title: string;
  /** Positions by dimensions, or distances by heads. */
  readonly table: readonly (readonly number[])[];
}

/**
 * How a model tells order. Learned and sinusoidal: what is added to the tokens, by position. Rotary: cos and sin of the angles by which
 * pairs are turned, by position. Relative and ALiBi: what is added to the scores of each head (in the first layer), by distance.
 */
export async function positionsOf(run: TrainedModel): Promise<Positions> {
  const model = transformerOf(run.model, "the table of positions", "reads in order and has no table of positions");
  const { positions: kind } = model;
  switch (kind) {
    case "learned":
    case "sinusoidal":
      return { title: `${kind} positions: what is added at each position`, table: rows(await added(run, model)) };
    case "rotary":
      return { title: "rotary positions: cos, then sin, of each pair's angle", table: rows(await turned(run, model)) };
    case "relative":
    case "alibi": {
      const how = isCausal(model) ? "how far a key lies back" : "how far a key lies ahead, from the farthest back";
      return { title: `${kind} positions: what each head adds, by ${how}`, table: byDistance(await biases(run, model), model) };
    }
    case "none":
      throw new ConfigError(
        sentence`${described(model)} that was trained with ${setting("positions", "none")} has no table of positions; train with another kind`,
      );
  }
}

/** An encoder–decoder's positions are shown for its decoder. */
const placeOf = (model: Transformer): string => `${stackPlace(model, "self")}/positions`;
const isCausal = (model: Transformer): boolean => model.model !== "encoder" || model.causal;

/** The config of the stack whose positions are shown. */
const sideOf = (model: Transformer): Transformer => (model.model === "encoder-decoder" ? decoderSide(model) : model);
const rows = (x: HostArray): number[][] => rowsOf({ shape: x.shape, data: x.data as Float32Array }).map((row) => Array.from(row));

/** Tokens of zeros, with positions. */
function added(run: TrainedModel, model: Transformer): Promise<HostArray> {
  const { positions: kind, width } = model;
  const context = run.weights.buffer.views.get(`${placeOf(model)}/table`)?.shape[0] ?? model.context;
  return computed(
    run,
    [1, context, width],
    () => 0,
    (p, x) => positioned(p.at(placeOf(model)), x, { kind, context }),
  );
}

/** Pairs (1, 0), turned as in the first layer; what is not turned is left out. */
function turned(run: TrainedModel, model: Transformer): Promise<HostArray> {
  const size = turnedSize(headSizes(sideOf(model)).key, model.ropeShare);
  const firstOfPair = (i: number) => (i % size < size / 2 ? 1 : 0);
  const settings = { ...blockConfig(model, 0), ropeShare: 1 };
  return computed(run, [1, 1, model.context, size], firstOfPair, (p, x) =>
    attentionPositions(p, "rotary", x, { causal: true }, settings).rotate?.(x),
  );
}

/** [head, query, key] */
function biases(run: TrainedModel, model: Transformer): Promise<HostArray> {
  const place = attentionPlace(model, "self", 0);
  const [causal, { heads }] = [isCausal(model), sideOf(model)];
  const shared = model.positions === "relative" && model.relativeShared;
  return computed(
    run,
    [1, heads, model.context, 1],
    () => 0,
    (p, x) => {
      const table = shared ? relativeTable(p.at(stackPlace(model, "self")), heads, model) : undefined;
      return attentionPositions(p.at(place), model.positions, x, { causal, table }, model).bias;
    },
  );
}

async function computed(
  { weights, device }: TrainedModel,
  shape: readonly number[],
  value: (place: number) => number,
  build: (p: Scope, x: Tensor) => Tensor | undefined,
): Promise<HostArray> {
  const fn = tensorFunction({ x: float32(shape) }, (p, { x }) => ({ table: build(p, x) ?? x }));
  const compiled = compile(fn, { device });
  try {
    const x = array(
      "float32",
      Float32Array.from({ length: elementCount(shape) }, (_, i) => value(i)),
      shape,
    );
    return (await compiled.run({ x }, { weights: weights.buffer })).table;
  } finally {
    await compiled.release();
  }
}

/** One row for each distance: in a causal model how far back, from 0 on; else from the farthest back to the farthest ahead. */
function byDistance({ shape: [heads, time], data }: HostArray, model: Transformer): number[][] {
  const at = (head: number, query: number, key: number) => Number(data[(head * time + query) * time + key]);
  const ofHeads = (query: number, key: number) => Array.from({ length: heads }, (_, head) => at(head, query, key));
  const back = Array.from({ length: time }, (_, distance) => ofHeads(time - 1, time - 1 - distance));
  if (isCausal(model)) return back;
  return [...back.reverse(), ...Array.from({ length: time - 1 }, (_, i) => ofHeads(0, i + 1))];
}
