import { ConfigError } from "../base/errors.ts";
import type { TensorFunction } from "../graph/graph.ts";
import { type ModelConfig, modelLoss, readsSource, takesAnyLength, taskOf, writes } from "../models/any.ts";
import { keepsPast } from "../models/continuation.ts";
import { decoderStep, decoderWhole } from "../models/decoder.ts";
import { encoderDecoderSteps, encoderDecoderWhole } from "../models/encoder-decoder.ts";
import { rnnStep, writtenOut } from "../models/rnn.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import { trainingLoss } from "../training/loss.ts";
import type { Sizes } from "./nodes.ts";

// What a model is used for, each as the function that is compiled for it elsewhere, so that costs are those of the graph that runs.

/** A training step; the scores of a whole sequence; one more token, with what was kept of those before it. */
export const phaseNames = ["training", "sequence", "token"] as const;
export type PhaseName = (typeof phaseNames)[number];

export interface Extent {
  readonly batch: number;
  /** Tokens of a sequence; of the target, where there is a source. */
  readonly length: number;
  readonly sourceLength: number;
  /** Tokens that a decoded token sees, itself included. */
  readonly decode: number;
}

export interface Phase {
  readonly name: PhaseName;
  readonly fn: TensorFunction;
  readonly options: Pick<CompileOptions, "gradientOf" | "outputs" | "symbols" | "keeps" | "noise" | "expected">;
  readonly sizes: Sizes;
}

export const isLanguageModel = (config: ModelConfig): boolean => taskOf(config) === "lm";

/** What a training step keeps for its way back, and what it drops by; as new runs do if left out. */
export type TrainingForm = Pick<CompileOptions, "keeps" | "noise">;

/** A phase of a model; undefined where there is none, as an encoder writes no tokens. */
export function phaseOf(name: PhaseName, config: ModelConfig, extent: Extent, { keeps, noise }: TrainingForm = {}): Phase | undefined {
  const { batch, length: time, sourceLength: sourceTime, decode } = extent;
  const anyLength = takesAnyLength(config);
  switch (name) {
    case "training": {
      // Windows of one text are never padded and equally long; examples are neither, and share a session with open sizes.
      const lm = isLanguageModel(config);
      const fn = trainingLoss(config, lm ? { ignore: null } : {}, time);
      const symbols = !lm && anyLength ? "open" : "bound";
      const sizes = { batch, time, sourceTime };
      const form = { ...(keeps && { keeps }), ...(noise && { noise }) };
      return phase(name, fn, { gradientOf: "loss", outputs: ["loss"], symbols, expected: sizes, ...form }, sizes);
    }
    case "sequence": {
      const fn = modelLoss(config, { training: false });
      return phase(name, fn, { outputs: ["scores"], symbols: anyLength ? "open" : "bound" }, { batch, time, sourceTime });
    }
    case "token": {
      const fn = nextToken(config);
      const kept = fn && ("past" in symbolsOf(fn) || config.model === "rnn");
      const sizes = { batch, sourceTime, ...(kept ? { time: 1, past: decode - 1 } : { time: decode }) };
      const symbols = anyLength && config.model !== "rnn" ? "open" : "bound"; // a step of an RNN is one step, whatever came before
      return fn && phase(name, fn, { outputs: ["scores"], symbols }, sizes);
    }
  }
}

/** What gives the next token: a step that goes on from what is kept, or everything again for a model that can keep nothing. */
function nextToken(config: ModelConfig): TensorFunction | undefined {
  switch (config.model) {
    case "decoder":
      return keepsPast(config) ? decoderStep(config) : decoderWhole(config);
    case "encoder-decoder":
      return keepsPast(config) ? encoderDecoderSteps(config).next : encoderDecoderWhole(config);
    case "rnn":
      return rnnStep(writtenOut(config));
    case "encoder":
      return undefined;
    case "own":
      return writes(config) ? config.whole() : undefined;
  }
}

const symbolsOf = (fn: TensorFunction): Readonly<Record<string, true>> =>
  Object.fromEntries(Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols.map((name) => [name, true]))));

function phase(name: PhaseName, fn: TensorFunction, options: Phase["options"], all: Sizes): Phase {
  const symbols = symbolsOf(fn);
  return { name, fn, options, sizes: Object.fromEntries(Object.entries(all).filter(([symbol]) => symbol in symbols)) };
}

/** The graph that runs. */
export function phaseGraph({ fn, options, sizes }: Phase, device: CompileOptions["device"]) {
  return compile(fn, { ...options, device }).graph(options.symbols === "open" ? {} : sizes);
}

/** Refuses lengths that the model has no positions for. */
export function checkExtent(config: ModelConfig, { length, sourceLength, decode }: Extent): void {
  if (config.model === "rnn" || config.model === "own" || config.positions !== "learned") return;
  const longest = Math.max(length, decode, readsSource(config) ? sourceLength : 0);
  if (longest > config.context)
    throw new ConfigError(
      `a length of ${longest} is more than the ${config.context} positions that the model learns; give a longer context, or positions that are not learned`,
    );
}
