import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import { grad } from "../../src/gradients/grad.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import type { Scope } from "../../src/graph/scope.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32, int32, type TensorType } from "../../src/graph/type.ts";
import { attention } from "../../src/layers/attention.ts";
import { block } from "../../src/layers/block.ts";
import { norm } from "../../src/layers/norm.ts";
import { type RecurrenceForm, recurrences, recurrent } from "../../src/layers/recurrent.ts";
import { decoderConfig, encoderConfig, encoderDecoderConfig } from "../../src/models/config.ts";
import { decoder } from "../../src/models/decoder.ts";
import { encoder } from "../../src/models/encoder.ts";
import { encoderDecoder } from "../../src/models/encoder-decoder.ts";
import { keyMask, realPositions } from "../../src/models/transformer.ts";
import { compile } from "../../src/node/device.ts";
import { add, concat, embedding, gelu, geluTanh, mul, softmaxCrossEntropy, sum } from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";

// Outputs and gradients agree with PyTorch's. reference.py made the values.

interface Numbers {
  readonly shape: number[];
  readonly data: number[];
}
type Group = Record<string, Numbers>;
interface Case {
  readonly params: Group;
  readonly inputs: Group;
  readonly ids: Group;
  readonly outputs: Group;
  readonly probes: Group;
  readonly gradients: Group;
}

const { cases } = JSON.parse(readFileSync(join(import.meta.dirname, "reference.json"), "utf8")) as { cases: Record<string, Case> };

type Build = (p: Scope, x: Record<string, Tensor>, form: RecurrenceForm) => Record<string, Tensor>;

const sizes = { layers: 2, heads: 2, width: 8, context: 8, vocab: 7 };
const layerConfig = (more: object) => ({ ...decoderConfig({ ...sizes, positions: "none", hidden: 12, ...more }), hidden: 12 });
const real = ({ x, lengths }: Record<string, Tensor>) => keyMask(realPositions(lengths, x));

const builders: Record<string, Build> = {
  "attention-causal": (p, { x }) => ({ y: attention(p.at("attention"), x, layerConfig({}), { causal: true }) }),
  "attention-padding": (p, t) => ({ y: attention(p.at("attention"), t.x, layerConfig({}), { allowed: real(t) }) }),
  "attention-both": (p, t) => ({ y: attention(p.at("attention"), t.x, layerConfig({}), { causal: true, allowed: real(t) }) }),
  "encoder-layer-post": (p, t) => ({
    y: block(p.at("block"), t.x, layerConfig({ normPlace: "post", activation: "relu" }), { causal: false, allowed: real(t) }),
  }),
  "encoder-layer-pre": (p, t) => ({
    y: block(p.at("block"), t.x, layerConfig({ activation: "relu" }), { causal: false, allowed: real(t) }),
  }),
  "decoder-layer": (p, { x, memory, lengths }) => ({
    y: block(p.at("block"), x, layerConfig({ normPlace: "post" }), {
      causal: true,
      memory: { states: memory, allowed: keyMask(realPositions(lengths, memory)) },
    }),
  }),
  "layer-norm": (p, { x }) => ({ y: norm(p.at("norm"), x, { kind: "layer" }) }),
  gelu: (_, { x }) => ({ y: gelu(x) }),
  "gelu-tanh": (_, { x }) => ({ y: geluTanh(x) }),
  embedding: (p, { ids }) => ({ y: embedding(p.param("table", [7, 3]), ids) }),
  "cross-entropy": (_, { scores, targets }) => ({ loss: softmaxCrossEntropy(scores, targets, { ignore: -1 }) }),
  "cross-entropy-smoothed": (_, { scores, targets }) => ({ loss: softmaxCrossEntropy(scores, targets, { ignore: -1, smoothing: 0.1 }) }),
  "rnn-layer": (p, { x }, form) => recurrence(p, x, "rnn", form),
  "gru-layer": (p, { x }, form) => recurrence(p, x, "gru", form),
  "lstm-layer": (p, { x }, form) => recurrence(p, x, "lstm", form),
  "gru-bidirectional": (p, { x }, form) => {
    const forward = recurrent(p.at("forward"), x, { cell: "gru", width: 4, form });
    return { y: concat([forward.outputs, recurrent(p.at("backward"), x, { cell: "gru", width: 4, form, backward: true }).outputs], -1) };
  },
  "model-decoder": (p, { ids, targets }) => {
    const scores = decoder(p.at("decoder"), ids, decoderConfig(sizes));
    return { scores, loss: softmaxCrossEntropy(scores, targets) };
  },
  "model-encoder": (p, { ids, lengths, targets }) => {
    const scores = encoder(p.at("encoder"), ids, lengths, encoderConfig({ ...sizes, labels: 3 }));
    return { scores, loss: softmaxCrossEntropy(scores, targets) };
  },
  "model-encoder-decoder": (p, { source, lengths, target, targets }) => {
    const scores = encoderDecoder(p.at("model"), { source, lengths, target }, encoderDecoderConfig(sizes));
    return { scores, loss: softmaxCrossEntropy(scores, targets, { ignore: -1, smoothing: 0.1 }) };
  },
};

function recurrence(p: Scope, x: Tensor, cell: "rnn" | "gru" | "lstm", form?: RecurrenceForm): Record<string, Tensor> {
  const { outputs, last } = recurrent(p.at("cell"), x, { cell, width: 4, form });
  return cell === "lstm" ? { y: outputs, h: last[0], c: last[1] } : { y: outputs, h: last[0] };
}

const host = (dtype: "float32" | "int32", { shape, data }: Numbers): HostArray => array(dtype, data, shape);
const hosts = (dtype: "float32" | "int32", group: Group, prefix = "") =>
  Object.fromEntries(Object.entries(group).map(([name, numbers]) => [`${prefix}${name}`, host(dtype, numbers)]));
const types = (make: (shape: number[]) => TensorType, group: Group, prefix = "") =>
  Object.fromEntries(Object.entries(group).map(([name, { shape }]): [string, TensorType] => [`${prefix}${name}`, make(shape)]));

describe.each(Object.entries(cases))("%s", (name, reference) => {
  const forms = /^(rnn|gru|lstm)-/.test(name) ? recurrences : (["unrolled"] as const);
  it.each(forms)("agrees in outputs and gradients to 1e-5 (%s)", async (form) => {
    const { params, inputs, ids, outputs, probes, gradients } = reference;
    const fn = tensorFunction({ ...types(float32, inputs), ...types(int32, ids), ...types(float32, probes, "probe ") }, (p, tensors) => {
      const results = builders[name](p, tensors, form);
      const loss = Object.keys(outputs)
        .map((key) => sum(mul(results[key], tensors[`probe ${key}`])))
        .reduce((a, b) => add(a, b));
      const of = Object.keys(inputs);
      const found =
        of.length > 0
          ? grad(
              loss,
              of.map((key) => tensors[key]),
            )
          : [];
      return { ...results, total: loss, ...Object.fromEntries(of.map((key, i): [string, Tensor] => [`d ${key}`, found[i]])) };
    });
    const layout = parametersOf(fn);
    expect(layout.entries.map((entry) => entry.name).sort()).toEqual(Object.keys(params).sort());
    const weights = new ParameterBuffer(layout);
    for (const [key, { data }] of Object.entries(params)) (weights.view(key).data as Float32Array).set(data);
    const found = new ParameterBuffer(layout);
    const feeds = { ...hosts("float32", inputs), ...hosts("int32", ids), ...hosts("float32", probes, "probe ") };
    const results: Record<string, HostArray> = await compile(fn, { gradientOf: "total", threads: 1 }).run(feeds, {
      weights,
      gradients: found,
    });
    for (const [key, { data }] of Object.entries(outputs))
      expect(gradientGap(results[key].data as Float32Array, data), key).toBeLessThan(1e-5);
    const ownOf = (key: string) => (results[`d ${key}`] ?? found.view(key)).data as Float32Array;
    for (const [key, { data }] of Object.entries(gradients)) {
      // A key's bias shifts all scores of a query alike: its gradient is 0, and holds nothing but rounding.
      if (!key.endsWith("/k/bias")) expect(gradientGap(ownOf(key), data), `gradient of ${key}`).toBeLessThan(5e-5);
    }
    const keys = Object.keys(gradients);
    const whole = keys.flatMap((key) => Array.from(ownOf(key)));
    expect(
      gradientGap(
        whole,
        keys.flatMap((key) => gradients[key].data),
      ),
      "the whole gradient",
    ).toBeLessThan(1e-5);
  });
});
