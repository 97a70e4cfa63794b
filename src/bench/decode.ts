import { array, type HostArray } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { highest } from "../generation/sampling.ts";
import type { Speaker, Speech } from "../generation/speech.ts";
import { decoderSpeaker } from "../generation/transformer.ts";
import { tensorFunction } from "../graph/graph.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { float32 } from "../graph/type.ts";
import type { DecoderConfig } from "../models/config.ts";
import { decoderLoss } from "../models/decoder.ts";
import { nodeDevice } from "../node/device.ts";
import { linear } from "../ops/products.ts";
import { type CompileOptions, compile, parametersOf } from "../runtime/compile.ts";
import { baked } from "../trained/baked.ts";
import type { Weights } from "../weights/weights.ts";
import { type Contestant, interleave } from "./measure.ts";

export interface Speed {
  readonly tokensPerSecond: number;
}

export interface DecodeBench {
  /** A session that only multiplies by the same weights: nothing that decodes one token can be faster. */
  readonly floor: { readonly msPerToken: number };
  /** One stream; `fraction` is the floor's time over its own. */
  readonly single: Readonly<Record<string, Speed & { readonly fraction: number }>>;
  readonly prefill: Speed & { readonly promptTokens: number };
  /** Eight streams together; `speedup` over one. */
  readonly batch8: Speed & { readonly speedup: number };
  readonly q8: Speed & { readonly speedup: number };
  readonly q4: Speed & { readonly speedup: number };
  readonly parameters: number;
  readonly weightBytes: number;
}

const streams = 8;
const promptTokens = 512;

/** Greedy decoding with a model of this size and random weights, beside the floor of the same run. */
export async function benchDecode(config: DecoderConfig, weights: Weights, threads: number, rounds = 6): Promise<DecodeBench> {
  const layout = parametersOf(decoderLoss(config));
  const options = baked(weights, nodeDevice({ threads }));
  const whole = decoderSpeaker(config, options);
  const rounded = {
    q8: decoderSpeaker(config, baked(weights, nodeDevice({ threads, precision: "q8" }))),
    q4: decoderSpeaker(config, baked(weights, nodeDevice({ threads, precision: "q4" }))),
  };
  const contexts = [128, 1000].map((wanted) => Math.min(wanted, config.context - burst));
  const prompt = ids(Math.min(promptTokens, config.context), config.vocab);
  const times = await interleave(
    {
      floor: await floorOf(layout, options),
      short: streaming(whole, contexts[0], 1),
      long: streaming(whole, contexts[1], 1),
      prefill: { run: () => whole.begin().join([{ ids: prompt }]), burst: 1 },
      batch8: streaming(whole, contexts[0], streams),
      q8: streaming(rounded.q8, contexts[0], 1),
      q4: streaming(rounded.q4, contexts[0], 1),
    },
    rounds,
  );
  for (const speaker of [whole, rounded.q8, rounded.q4]) await speaker.release();
  const speed = (ms: number, tokens = 1) => (1000 * tokens) / ms;
  const single = (ms: number) => ({ tokensPerSecond: speed(ms), fraction: times.floor.best / ms });
  const beside = (ms: number, tokens = 1) => ({ tokensPerSecond: speed(ms, tokens), speedup: (tokens * times.short.best) / ms });
  return {
    floor: { msPerToken: times.floor.best },
    single: { context128: single(times.short.best), context1000: single(times.long.best) },
    prefill: { tokensPerSecond: speed(times.prefill.best, prompt.length), promptTokens: prompt.length },
    batch8: beside(times.batch8.best, streams),
    q8: beside(times.q8.best),
    q4: beside(times.q4.best),
    parameters: layout.total,
    weightBytes: 4 * layout.total,
  };
}

/** Tokens in a row, each round: the context grows by as many. */
const burst = 10;

/** Whole steps of greedy decoding: the model, the choice, and keeping keys and values. */
function streaming(speaker: Speaker, context: number, rows: number): Contestant {
  let speech: Speech;
  let tokens: number[] = [];
  return {
    burst,
    prepare: async () => {
      speech = speaker.begin();
      const prompts = Array.from({ length: rows }, (_, i) => ({ ids: ids(context, speaker.vocab, i) }));
      tokens = (await speech.join(prompts)).map(({ scores }) => highest(scores));
    },
    run: async () => {
      tokens = (await speech.next(tokens)).map(({ scores }) => highest(scores));
    },
  };
}

const ids = (length: number, vocab: number, seed = 0): Int32Array => {
  const source = chance(7).fork(seed);
  return Int32Array.from({ length }, (_, i) => source.integer(i, vocab));
};

/** Every matrix that a token is multiplied by, on its own. */
async function floorOf({ entries }: ParameterLayout, options: CompileOptions): Promise<Contestant> {
  const matrices = entries.filter(({ shape, name }) => shape.length === 2 && !name.includes("/positions/"));
  const sizes = [...new Set(matrices.map(({ shape }) => shape[1]))];
  const inputs = Object.fromEntries(sizes.map((size) => [`x${size}`, float32([1, size])]));
  const fn = tensorFunction(inputs, (p, given) =>
    Object.fromEntries(
      matrices.map(({ name, shape }, i) => [`y${i}`, linear(given[`x${shape[1]}`], p.param(name, shape), undefined, { transposed: true })]),
    ),
  );
  const feeds: Record<string, HostArray> = Object.fromEntries(
    sizes.map((size) => [
      `x${size}`,
      array(
        "float32",
        Float32Array.from({ length: size }, (_, i) => chance(3).normal(i)),
        [1, size],
      ),
    ]),
  );
  const compiled = compile(fn, options);
  await compiled.run(feeds);
  return { run: () => compiled.run(feeds), burst };
}

/** Generates some text with these weights and nothing else: for a process of its own, whose memory is then measured. */
export async function decodeOnce(config: DecoderConfig, weights: Weights, threads: number): Promise<void> {
  const speaker = decoderSpeaker(config, baked(weights, nodeDevice({ threads })));
  const stream = streaming(speaker, Math.min(128, config.context - burst), 1);
  await stream.prepare?.();
  for (let i = 0; i < burst; i++) await stream.run();
}

/** Random numbers of the usual size. Equal ones would be shared by the runtime, and look faster than they are. */
export function randomWeights(config: DecoderConfig): ParameterBuffer {
  const layout = parametersOf(decoderLoss(config));
  const data = new Float32Array(layout.total);
  const noise = new Int32Array(data.buffer, data.byteOffset, data.length);
  chance(1).bytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  for (let i = 0; i < data.length; i++) data[i] = noise[i] * (0.035 / 2 ** 31);
  return new ParameterBuffer(layout, data);
}
