import { array, type HostArray } from "../base/arrays.ts";
import type { Chance } from "../base/chance.ts";
import { ConfigError } from "../base/errors.ts";
import { tensorFunction } from "../graph/graph.ts";
import { int32 } from "../graph/type.ts";
import { hasClassToken, type Transformer, transformerOf } from "../models/any.ts";
import { kvHeadsOf } from "../models/config.ts";
import { embedded, tokenTable } from "../models/transformer.ts";
import { compile } from "../runtime/compile.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { rowsOf } from "./answers.ts";
import { type AttentionOptions, attentionPlace, attentionSizes, chosen, chosenKind, stackPlace } from "./attention.ts";
import { type GeometryPanel, geometryPanel, type Keys, plainLayerNorm, toyGeometry } from "./geometry.ts";
import type { AttentionKind } from "./look.ts";
import { activationOf, observe } from "./observe.ts";
import { type Reading, readingOf } from "./reading.ts";

// Keys and queries of one head of a model in one space, the width of the model.

type Vector = readonly number[];

/** What reaches a layer's attention for a text, as it is and after a plain LayerNorm, beside the same for a toy that can be seen whole. */
export async function keyGeometry(
  run: TrainedModel,
  text: string,
  chance: Chance,
  options: AttentionOptions = {},
): Promise<GeometryPanel[]> {
  const { keys, rawQueries, queries, labels } = await keySpace(run, text, options);
  const { layer = 0, head = 0 } = options;
  return [
    ...toyGeometry(chance.fork("toy")),
    geometryPanel(`layer ${layer}, head ${head}, without LayerNorm`, { keys, labels, queries: rawQueries }),
    geometryPanel(`layer ${layer}, head ${head}, with LayerNorm`, { keys: keys.map(plainLayerNorm), labels, queries }),
  ];
}

export interface KeySpace extends Keys {
  /** The queries pulled back through W_K alone; `queries` are pulled back through the norm's scale too. */
  readonly rawQueries: readonly Vector[];
}

/** What is given to one layer for each position, before its norm, and the queries of one head there. */
export async function keySpace(run: TrainedModel, text: string, options: AttentionOptions = {}): Promise<KeySpace> {
  const model = transformerOf(run.model, "the geometry of keys", "has no keys that a LayerNorm could move");
  const kind = chosenKind(model, options.kind ?? (model.model === "encoder-decoder" ? "encoder" : undefined));
  if (kind === "cross") throw new ConfigError("the geometry is that of self-attention; choose the kind self or encoder for it");
  const { layer = 0, head = 0 } = options;
  const sizes = attentionSizes(model, kind);
  chosen("layer", sizes.layers, layer);
  chosen("head", sizes.heads, head);
  const place = attentionPlace(model, kind, layer);
  const reading = await readingOf(run, text, options);
  const { [`${place}/q`]: q } = await observe(run, reading, { taps: [`${place}/q`] });
  const rawQueries = pulledBack(run, model, place, head, q);
  const scale =
    model.normPlace !== "post" ? run.weights.buffer.views.get(`${stackPlace(model, kind)}/block.${layer}/norm1/scale`)?.data : undefined;
  return {
    keys: await attentionInputs(run, model, reading, kind, layer),
    labels: kind === "encoder" ? reading.tokens : (reading.target?.read ?? reading.tokens),
    rawQueries,
    queries: scale ? rawQueries.map((query) => query.map((x, i) => x * Number(scale[i]))) : rawQueries,
  };
}

/** What a layer is given for each position: the output of the one before, or the embedded tokens. */
async function attentionInputs(
  run: TrainedModel,
  model: Transformer,
  reading: Reading,
  kind: AttentionKind,
  layer: number,
): Promise<Vector[]> {
  const before = `${stackPlace(model, kind)}/block.${layer - 1}/output`;
  const states =
    layer > 0
      ? (await observe(run, reading, { taps: [before] }))[before]
      : await embeddedTokens(
          run,
          model,
          kind,
          kind === "encoder" ? (reading.feeds.source ?? reading.feeds.ids) : (reading.feeds.target ?? reading.feeds.ids),
        );
  return rowsOf(activationOf({ name: before, axes: ["time", "width"] }, states)).map((row) => Array.from(row));
}

async function embeddedTokens(run: TrainedModel, model: Transformer, kind: AttentionKind, given: HostArray): Promise<HostArray> {
  // A class token in front has the id after the last.
  const front = hasClassToken(model) ? [model.vocab] : [];
  const ids = Int32Array.from([...front, ...(given.data as Int32Array)]);
  const config = { ...model, dropout: 0, vocab: model.vocab + front.length, context: model.context + front.length };
  const ownSource = model.model === "encoder-decoder" && kind === "encoder" ? model.sourceVocab : undefined;
  const embed = tensorFunction({ ids: int32(["batch", "time"]) }, (p, inputs) => {
    const root = p.at(model.model === "encoder-decoder" ? "model" : model.model);
    const table = tokenTable(root, ownSource === undefined ? "tokens" : "source-tokens", ownSource ?? config.vocab, config);
    return { states: embedded(p.at(stackPlace(model, kind)), table, inputs.ids, config) };
  });
  const { states } = await run.use(
    `embedded ${kind}`,
    () => compile(embed, { device: run.device, symbols: "open" }),
    (compiled) => compiled.run({ ids: array("int32", ids, [1, ids.length]) }, { weights: run.weights.buffer }),
  );
  return states;
}

/**
 * A head's queries as vectors of the model's width: q·(W x) = (Wᵀ q)·x. None where that is not the score, or where it depends on the
 * distance (rotary) or a norm of the keys.
 */
function pulledBack(run: TrainedModel, model: Transformer, place: string, head: number, { shape, data }: HostArray): Vector[] {
  const [, heads, time, size] = shape;
  const dotProducts = model.score === "scaled" || model.score === "dot";
  if (!dotProducts || model.positions === "rotary" || model.multiHead === "narrow" || model.attention === "free" || model.qkNorm) return [];
  const joint = run.weights.buffer.views.get(`${place}/qkv/weight`)?.data; // queries, keys and values below each other
  const weight = (joint ?? run.weights.buffer.view(`${place}/k/weight`).data) as Float32Array;
  const first = ((joint ? heads : 0) + Math.floor((head * kvHeadsOf(model)) / model.heads)) * size;
  return Array.from({ length: time }, (_, t) => {
    const query: number[] = new Array(model.width).fill(0);
    for (let i = 0; i < size; i++) {
      const share = Number(data[(head * time + t) * size + i]);
      for (let j = 0; j < model.width; j++) query[j] += share * weight[(first + i) * model.width + j];
    }
    return query;
  });
}
