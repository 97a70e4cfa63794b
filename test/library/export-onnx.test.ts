import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { type InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { int32 } from "../../src/graph/type.ts";
import { exportModel } from "../../src/library/export.ts";
import type { ExportWeights } from "../../src/library/exporter.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import type { DecoderConfig, EncoderConfig, EncoderDecoderConfig, RnnConfig } from "../../src/models/config.ts";
import { keepsPast } from "../../src/models/continuation.ts";
import { decoder } from "../../src/models/decoder.ts";
import { encoder } from "../../src/models/encoder.ts";
import { encoderDecoder } from "../../src/models/encoder-decoder.ts";
import { rnnEncoderDecoder, rnnLanguageModel } from "../../src/models/rnn.ts";
import { compile } from "../../src/node/device.ts";
import { ModelProtoSchema } from "../../src/onnx/onnx_pb.ts";
import type { TrainedModel } from "../../src/trained/trained.ts";
import { quantise } from "../../src/weights/quantise.ts";
import { architectures } from "../support/architectures.ts";
import { cacheAfter, emptyCache, type Fed, largestGap, livelyModel, longs, sessionOf } from "../support/exported.ts";

// What an exported file computes in somebody else's hands is what the model computes here.

let place = "";
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), "qkv-export-"));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

const small = { layers: 2, heads: 2, width: 8, hidden: 12, context: 9, vocab: 11 };
const plain = { ...small, model: "decoder" } as const;

/** What published decoders have beside the usual choices. */
const published: (readonly [string, ModelInput])[] = [
  [
    "like Llama 3",
    {
      ...plain,
      heads: 4,
      kvHeads: 2,
      bias: "none",
      positions: "rotary",
      norm: "rms",
      activation: "swiglu",
      ropeBase: 500_000,
      ropeScaling: "llama3",
    },
  ],
  ["like Qwen 3", { ...plain, heads: 4, kvHeads: 1, keySize: 6, valueSize: 6, qkNorm: true, positions: "rotary", norm: "rms" }],
  [
    "like Gemma 3",
    {
      ...plain,
      layers: 3,
      positions: "rotary",
      norm: "rms",
      normPlace: "both",
      window: 3,
      windowEvery: 3,
      ropeLocalBase: 100,
      scoreCap: 5,
      scoresCap: 3,
      embeddingScale: 2,
      scale: 0.4,
    },
  ],
  ["like Phi", { ...plain, positions: "rotary", ropeShare: 0.5, parallel: "shared-norm", tie: false, scoresBias: true }],
  ["like Pythia", { ...plain, positions: "rotary", ropeShare: 0.5, parallel: "own-norm" }],
  [
    "with one table of relative positions",
    { ...plain, positions: "relative", relativeShared: true, relativeBuckets: 8, relativeFarthest: 6 },
  ],
  ["with a window and ALiBi", { ...plain, positions: "alibi", window: 2 }],
];
const usual = architectures(small);
const ofKind = <K extends ModelInput["model"]>(kind: K, more: (readonly [string, ModelInput])[] = []) =>
  [...usual, ...more].filter(([, given]) => given.model === kind);

const integers = (rows: readonly (readonly number[])[]): HostArray =>
  array("int32", Int32Array.from(rows.flat()), [rows.length, rows[0].length]);
const counts = (values: readonly number[]): HostArray => array("int32", Int32Array.from(values), [values.length]);
const times = (length: number, value: number): number[] => Array.from({ length }, () => value);
const upTo = (length: number, from = 0): number[] => Array.from({ length }, (_, i) => from + i);

let number = 0;
async function exported(
  trained: TrainedModel,
  more: { attentions?: boolean; weights?: ExportWeights; largest?: number } = {},
): Promise<string> {
  const out = join(place, `${number++}`);
  await exportModel(trained, { to: "onnx", out, ...more });
  return out;
}

const texts = [
  [3, 4, 5, 6, 7, 8, 9],
  [9, 3, 10, 4, 2, 5, 1],
];

describe("a decoder", () => {
  const scored = async (trained: TrainedModel, rows: number[][]) => {
    const fn = tensorFunction({ ids: int32(["batch", "time"]) }, (p, { ids }) => ({
      scores: decoder(p.at("decoder"), ids, trained.model as DecoderConfig),
    }));
    const f = compile(fn, { threads: 1 });
    const { scores } = await f.run({ ids: integers(rows) }, { weights: trained.weights.buffer });
    await f.release();
    return scores.data as Float32Array;
  };
  const kept = ofKind("decoder", published).filter(([, given]) => keepsPast(modelConfig(given) as DecoderConfig));

  it.each(kept)("%s: at once, after a cache, and padded at the left", async (_, given) => {
    const trained = livelyModel(given);
    const wanted = await scored(trained, texts);
    const session = await sessionOf(await exported(trained));
    const needed = new Set(session.inputNames);
    const run = (feeds: Record<string, Tensor>) =>
      session.run(Object.fromEntries(Object.entries(feeds).filter(([name]) => needed.has(name))));
    const part = (from: number, to: number) => ({
      input_ids: longs(texts.map((row) => row.slice(from, to))),
      attention_mask: longs(texts.map(() => times(to, 1))),
      position_ids: longs(texts.map(() => upTo(to - from, from))),
    });
    const whole = await run({ ...part(0, 7), ...emptyCache(session, 2) });
    expect(largestGap(whole.logits.data as Float32Array, wanted)).toBeLessThan(1e-5);

    const first = await run({ ...part(0, 4), ...emptyCache(session, 2) });
    const rest = await run({ ...part(4, 7), ...cacheAfter(first) });
    for (const row of [0, 1])
      expect(
        largestGap((rest.logits.data as Float32Array).subarray(row * 33, row * 33 + 33), wanted.subarray(row * 77 + 44, row * 77 + 77)),
      ).toBeLessThan(1e-5);

    const alone = await scored(trained, [texts[1].slice(2)]);
    const padded = await run({
      input_ids: longs([texts[0], [0, 0, ...texts[1].slice(2)]]),
      attention_mask: longs([times(7, 1), [0, 0, 1, 1, 1, 1, 1]]),
      position_ids: longs([upTo(7), [1, 1, ...upTo(5)]]),
      ...emptyCache(session, 2),
    });
    expect(largestGap((padded.logits.data as Float32Array).subarray(77 + 22), alone)).toBeLessThan(1e-5);
    await session.release();
  });

  it("whose tokens see later ones keeps nothing, and is refused", async () => {
    await expect(exported(livelyModel({ ...plain, mask: "none" }))).rejects.toThrow(/keeps nothing of them/);
    expect(readdirSync(place)).not.toContain(`${number - 1}`);
  });

  it("puts out its patterns when it is asked to, with the same scores", async () => {
    const trained = livelyModel({ ...plain, heads: 4, kvHeads: 2, positions: "rotary" });
    const session = await sessionOf(await exported(trained, { attentions: true }));
    expect(session.outputNames).toEqual([
      "logits",
      "present.0.key",
      "present.0.value",
      "present.1.key",
      "present.1.value",
      "attentions.0",
      "attentions.1",
    ]);
    const feeds = {
      input_ids: longs(texts),
      attention_mask: longs(texts.map(() => times(7, 1))),
      position_ids: longs(texts.map(() => upTo(7))),
    };
    const result = await session.run({ ...feeds, ...emptyCache(session, 2) });
    expect(largestGap(result.logits.data as Float32Array, await scored(trained, texts))).toBeLessThan(1e-5);
    expect(result["attentions.1"].dims).toEqual([2, 4, 7, 7]);
    const pattern = result["attentions.1"].data as Float32Array;
    for (let row = 0; row < pattern.length; row += 7) expect(pattern.subarray(row, row + 7).reduce((a, b) => a + b)).toBeCloseTo(1, 5);
    await session.release();
  });

  it.each<[ExportWeights, string, number]>([
    ["f16", "model_fp16", 4e-3],
    ["q8", "model_quantized", 2e-2],
    ["q4", "model_q4", 0.3],
  ])("in %s is close to what was trained", async (weights, file, close) => {
    const trained = livelyModel(
      { ...plain, width: 64, hidden: 64, heads: 4, positions: "rotary", norm: "rms", activation: "swiglu" },
      0.02,
    );
    const session = await sessionOf(await exported(trained, { weights }), file);
    const feeds = {
      input_ids: longs(texts),
      attention_mask: longs(texts.map(() => times(7, 1))),
      position_ids: longs(texts.map(() => upTo(7))),
    };
    const result = await session.run({ ...feeds, ...emptyCache(session, 2) });
    const wanted = await scored(trained, texts);
    const size = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const gap = largestGap(result.logits.data as Float32Array, wanted) / size;
    expect(gap).toBeLessThan(close);
    expect(gap).toBeGreaterThan(0);
    await session.release();
  });
});

describe("an encoder", () => {
  const tasks: (readonly [string, ModelInput])[] = [
    [
      "like BERT",
      { ...small, model: "encoder", labels: 3, segments: 2, embeddingNorm: true, normPlace: "post", pool: "first", pooler: "tanh" },
    ],
    ["of several labels", { ...small, model: "encoder", labels: 3, labelling: "several" }],
    ["of hidden tokens", { ...small, model: "encoder", task: "mlm", headTransform: true }],
    ["of vectors", { ...small, model: "encoder", task: "embed", normalise: true }],
    ["of vectors with a class token", { ...small, model: "encoder", task: "embed", pool: "class" }],
    ["that reads on", { ...small, model: "encoder", labels: 3, causal: true, pool: "last" }],
  ];

  it.each(ofKind("encoder", tasks))("%s: rows of different lengths", async (_, given) => {
    const trained = livelyModel(given);
    const config = trained.model as EncoderConfig;
    const fn = tensorFunction({ ids: int32(["batch", "time"]), lengths: int32(["batch"]) }, (p, { ids, lengths }) => ({
      scores: encoder(p.at("encoder"), ids, lengths, config),
    }));
    const f = compile(fn, { threads: 1 });
    const { scores } = await f.run({ ids: integers(texts), lengths: counts([7, 4]) }, { weights: trained.weights.buffer });
    await f.release();
    const session = await sessionOf(await exported(trained));
    const feeds = {
      input_ids: longs(texts),
      attention_mask: longs([times(7, 1), [1, 1, 1, 1, 0, 0, 0]]),
      ...(config.segments > 1 && { token_type_ids: longs(texts.map(() => times(7, 0))) }),
    };
    const result = await session.run(feeds);
    const said = result[config.task === "embed" ? "sentence_embedding" : "logits"];
    expect(said.dims).toEqual(scores.shape);
    const perPlace = scores.shape.length === 3 ? scores.data.length / 14 : undefined;
    const real = perPlace === undefined ? scores.data.length : 11 * perPlace; // what is said of padding means nothing
    expect(largestGap((said.data as Float32Array).subarray(0, real), (scores.data as Float32Array).subarray(0, real))).toBeLessThan(1e-5);
    if (config.task === "embed") expect(result.last_hidden_state.dims).toEqual([2, 7, 8]);
    await session.release();
  });

  it("of vectors gives the states that its vector is the mean of", async () => {
    const session = await sessionOf(await exported(livelyModel({ ...small, model: "encoder", task: "embed" })));
    const { last_hidden_state: states, sentence_embedding: vector } = await session.run({
      input_ids: longs([texts[0]]),
      attention_mask: longs([times(7, 1)]),
    });
    const mean = Array.from({ length: 8 }, (_, j) => upTo(7).reduce((sum, t) => sum + (states.data as Float32Array)[8 * t + j], 0) / 7);
    expect(largestGap(vector.data as Float32Array, mean)).toBeLessThan(1e-5);
    await session.release();
  });
});

describe("an encoder–decoder", () => {
  const more: (readonly [string, ModelInput])[] = [
    [
      "like T5",
      {
        ...small,
        model: "encoder-decoder",
        positions: "relative",
        relativeShared: true,
        bias: "none",
        norm: "rms",
        scoresScale: 0.4,
        keySize: 6,
        valueSize: 6,
      },
    ],
    ["with a longer decoder", { ...small, model: "encoder-decoder", decoderLayers: 3, scoresBias: true, tie: true }],
  ];
  const kept = ofKind("encoder-decoder", more).filter(([, given]) => keepsPast(modelConfig(given) as EncoderDecoderConfig));
  const sources = [
    [3, 4, 5, 6, 2],
    [6, 5, 2, 0, 0],
  ];
  const mask = [times(5, 1), [1, 1, 1, 0, 0]];

  it.each(kept)("%s: at once, and after a cache", async (_, given) => {
    const trained = livelyModel(given);
    const config = trained.model as EncoderDecoderConfig;
    const fn = tensorFunction(
      { source: int32(["batch", "sourceTime"]), lengths: int32(["batch"]), target: int32(["batch", "time"]) },
      (p, pair) => ({ scores: encoderDecoder(p.at("model"), pair, config) }),
    );
    const f = compile(fn, { threads: 1 });
    const feeds = { source: integers(sources), lengths: counts([5, 3]), target: integers(texts.map((row) => row.slice(0, 4))) };
    const wanted = (await f.run(feeds, { weights: trained.weights.buffer })).scores.data as Float32Array; // [2, 4, 11]
    await f.release();
    const folder = await exported(trained);
    const [reads, writes] = [await sessionOf(folder, "encoder_model"), await sessionOf(folder, "decoder_model_merged")];
    const { last_hidden_state } = await reads.run({ input_ids: longs(sources), attention_mask: longs(mask) });
    const memory = { encoder_hidden_states: last_hidden_state, encoder_attention_mask: longs(mask) };
    const part = (from: number, to: number) => ({ input_ids: longs(texts.map((row) => row.slice(from, to))), ...memory });
    const whole = await writes.run({ ...part(0, 4), ...emptyCache(writes, 2) });
    expect(largestGap(whole.logits.data as Float32Array, wanted)).toBeLessThan(1e-5);
    const first = await writes.run({ ...part(0, 3), ...emptyCache(writes, 2) });
    expect(first["present.0.encoder.key"].dims[2]).toBe(5);
    const next = await writes.run({ ...part(3, 4), ...cacheAfter(first) });
    expect(next["present.0.encoder.key"].dims[2]).toBe(5);
    for (const row of [0, 1])
      expect(
        largestGap((next.logits.data as Float32Array).subarray(row * 11, row * 11 + 11), wanted.subarray(row * 44 + 33, row * 44 + 44)),
      ).toBeLessThan(1e-5);
    await reads.release();
    await writes.release();
  });
});

describe("an RNN", () => {
  const state = (names: readonly string[], width: number) =>
    Object.fromEntries(
      names
        .filter((name) => name.startsWith("past_states."))
        .map((name) => [name, new Tensor("float32", new Float32Array(2 * width), [2, width])]),
    );
  const statesOf = (results: Fed) =>
    Object.fromEntries(
      Object.entries(results)
        .filter(([name]) => name.startsWith("present_states."))
        .map(([name, tensor]) => [name.replace("present", "past"), tensor]),
    );
  /** The scores after each token, [batch, vocab] each, from a step for each. */
  async function steps(session: InferenceSession, begin: Fed, memory: Fed = {}): Promise<Float32Array[]> {
    const scores: Float32Array[] = [];
    let states = begin;
    for (const [t] of texts[0].entries()) {
      const results = (await session.run({ input_ids: longs(texts.map((row) => [row[t]])), ...states, ...memory })) as Fed;
      scores.push(results.logits.data as Float32Array);
      states = statesOf(results);
    }
    return scores;
  }
  function expectSame(found: readonly Float32Array[], wanted: Float32Array): void {
    for (const [t, scores] of found.entries())
      for (const row of [0, 1])
        expect(
          largestGap(scores.subarray(11 * row, 11 * row + 11), wanted.subarray(11 * (7 * row + t), 11 * (7 * row + t + 1))),
        ).toBeLessThan(1e-5);
  }
  const ofTask = (task: string) => ofKind("rnn").filter(([, given]) => "task" in given && given.task === task);

  it.each(ofTask("lm"))("%s: a step for each token", async (_, given) => {
    const trained = livelyModel(given);
    const fn = tensorFunction({ ids: int32([2, 7]) }, (p, { ids }) => ({
      scores: rnnLanguageModel(p.at("model"), ids, trained.model as RnnConfig),
    }));
    const f = compile(fn, { threads: 1 });
    const { scores } = await f.run({ ids: integers(texts) }, { weights: trained.weights.buffer });
    await f.release();
    const session = await sessionOf(await exported(trained));
    expectSame(await steps(session, state(session.inputNames, 8)), scores.data as Float32Array);
    await session.release();
  });

  it.each(ofTask("translate"))("%s: the source at once, then a step for each token", async (_, given) => {
    const trained = livelyModel(given);
    const config = trained.model as RnnConfig;
    const fn = tensorFunction({ source: int32([2, 9]), lengths: int32([2]), target: int32([2, 7]) }, (p, pair) => ({
      scores: rnnEncoderDecoder(p.at("model"), pair, config),
    }));
    const sources = [times(9, 3), [4, 5, 6, 7, 2, 0, 0, 0, 0]];
    const mask = longs([times(9, 1), [1, 1, 1, 1, 1, 0, 0, 0, 0]]);
    const f = compile(fn, { threads: 1 });
    const { scores } = await f.run(
      { source: integers(sources), lengths: counts([9, 5]), target: integers(texts) },
      { weights: trained.weights.buffer },
    );
    await f.release();
    const folder = await exported(trained);
    const [reads, writes] = [await sessionOf(folder, "encoder_model"), await sessionOf(folder, "decoder_model")];
    const read = (await reads.run({ input_ids: longs(sources), attention_mask: mask })) as Fed;
    const memory: Fed = config.attention ? { encoder_hidden_states: read.last_hidden_state, encoder_attention_mask: mask } : {};
    expectSame(await steps(writes, statesOf(read), memory), scores.data as Float32Array);
    await reads.release();
    await writes.release();
  });
});

describe("the files", () => {
  const modelIn = (folder: string, name = "model") => fromBinary(ModelProtoSchema, readFileSync(join(folder, "onnx", `${name}.onnx`)));

  it("have ONNX's own operators of a version that old readers know, with nothing that nobody reads", async () => {
    const { graph, opsetImport } = modelIn(await exported(livelyModel({ ...plain, positions: "rotary" })));
    expect(opsetImport.map(({ domain, version }) => [domain, Number(version)])).toEqual([["", 21]]);
    const read = new Set(graph?.node.flatMap(({ input }) => input));
    expect(graph?.initializer.filter(({ name }) => !read.has(name)).map(({ name }) => name)).toEqual([]);
    expect(graph?.node.filter(({ opType }) => opType === "And")).toEqual([]); // WebGPU has none
    expect(graph?.input.map(({ name }) => name).slice(0, 3)).toEqual(["input_ids", "attention_mask", "position_ids"]);
  });

  it("of q4 have products with 4 bits alone beside them, and those of q8 none", async () => {
    const trained = livelyModel({ ...plain, width: 64, heads: 2 });
    const othersIn = async (weights: ExportWeights, file: string) =>
      modelIn(await exported(trained, { weights }), file).graph?.node.filter(({ domain }) => domain !== "") ?? [];
    const others = await othersIn("q4", "model_q4");
    expect(new Set(others.map(({ opType }) => opType))).toEqual(new Set(["MatMulNBits"]));
    expect(new Set(others.map(({ attribute }) => Number(attribute.find(({ name }) => name === "bits")?.i)))).toEqual(new Set([4]));
    expect(await othersIn("q8", "model_quantized")).toEqual([]);
  });

  it("of 8 bits hold the very numbers that qkv rounds to, in about a quarter of the bytes", async () => {
    const trained = livelyModel({ ...plain, width: 72, heads: 2, hidden: 80, tie: false });
    const bytes = async (weights: ExportWeights, file: string) => statSync(join(await exported(trained, { weights }), "onnx", file)).size;
    expect((await bytes("q8", "model_quantized.onnx")) / (await bytes("f32", "model.onnx"))).toBeLessThan(0.45); // with the graph itself
    const { graph } = modelIn(await exported(trained, { weights: "q8" }), "model_quantized");
    const packed = graph?.initializer.filter(({ dataType }) => dataType === 2).map(({ rawData }) => rawData) ?? [];
    const name = "decoder/block.0/feedforward/expand.weight";
    const matrix = trained.weights.numbers(name);
    const out = matrix.length / 72;
    expect(packed).toContainEqual(quantise(matrix, [out, 72], 8).packed);
  });

  it("say which inputs an unused one is not: positions that nobody asks for", async () => {
    const session = await sessionOf(await exported(livelyModel({ ...plain, positions: "none" })));
    expect(session.inputNames).not.toContain("position_ids");
    await session.release();
  });

  it.each(["f32", "f16", "q4"] as const)(
    "that are too large have their numbers (%s) beside them, and compute the same",
    async (weights) => {
      const trained = livelyModel({ ...plain, width: 32, hidden: 48 });
      const ending = { f32: "", f16: "_fp16", q4: "_q4" }[weights];
      const [inside, beside] = [await exported(trained, { weights }), await exported(trained, { weights, largest: 2000 })];
      expect(readdirSync(join(beside, "onnx")).sort()).toEqual([`model${ending}.onnx`, `model${ending}.onnx_data`]);
      const config = JSON.parse(readFileSync(join(beside, "config.json"), "utf8"));
      expect(config["transformers.js_config"].use_external_data_format).toEqual({ [`model${ending}.onnx`]: 1 });
      const feeds = {
        input_ids: longs(texts),
        attention_mask: longs(texts.map(() => times(7, 1))),
        position_ids: longs(texts.map(() => upTo(7))),
      };
      const results = [];
      for (const folder of [inside, beside]) {
        const session = await sessionOf(folder, `model${ending}`);
        results.push(
          (
            await session.run(
              Object.fromEntries(
                Object.entries({ ...feeds, ...emptyCache(session, 2) }).filter(([name]) => session.inputNames.includes(name)),
              ),
            )
          ).logits.data,
        );
        await session.release();
      }
      expect(results[1]).toEqual(results[0]);
    },
  );
});
