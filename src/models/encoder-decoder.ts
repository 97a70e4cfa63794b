import { tensorFunction } from "../graph/graph.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { knownSource } from "../layers/attention.ts";
import { decoderSide, type EncoderDecoderConfig, type EncoderDecoderInput, encoderDecoderConfig, kvHeadsOf } from "./config.ts";
import { continued, final, headSizes, keptInputs, lastOf, nextToken, stepInputs } from "./continuation.ts";
import { type LossOptions, modeOf, type Pair, pairLoss } from "./losses.ts";
import { effective, type Mode } from "./mode.ts";
import { blockConfig, embedded, keyMask, realPlaces, realPositions, stack, tokenScores, tokenTable } from "./transformer.ts";

export const targetTable = (p: Scope, config: EncoderDecoderConfig): Tensor => tokenTable(p, "tokens", config.vocab, config);

/** Source and target share a table unless the source has a vocabulary of its own. */
export const sourceTable = (p: Scope, config: EncoderDecoderConfig): Tensor | undefined =>
  config.sourceVocab === undefined ? undefined : tokenTable(p, "source-tokens", config.sourceVocab, config);

/** What the encoder makes of the source, [batch, sourceTime, width]. */
export const encodedSource = layer((p, table: Tensor, source: Tensor, lengths: Tensor, config: EncoderDecoderConfig): Tensor => {
  const reader = p.at("encoder");
  const allowed = keyMask(realPositions(lengths, source));
  return stack(reader, embedded(reader, table, source, config), config, () => ({ causal: false, allowed }));
});

interface Memory {
  readonly states: Tensor;
  readonly lengths: Tensor;
}

/** The decoder's states for the target so far, [batch, time, width]. It sees its own past, and in every layer the encoder's last. */
const writtenStates = layer((p, table: Tensor, { states, lengths }: Memory, target: Tensor, config: EncoderDecoderConfig): Tensor => {
  const writer = p.at("decoder");
  const side = decoderSide(config);
  const memory = { states, allowed: keyMask(realPositions(lengths, states)) };
  return stack(writer, embedded(writer, table, target, side), side, () => ({ causal: true, memory }));
});

/** The scores of every next target token, [batch, time, vocab]. */
export const encoderDecoder = layer((p, pair: Pair, given: EncoderDecoderConfig, mode: Mode = {}): Tensor => {
  const { source, lengths, target } = pair;
  const config = effective(given, mode);
  const table = targetTable(p, config);
  const states = encodedSource(p, sourceTable(p, config) ?? table, source, lengths, config);
  return tokenScores(p, table, writtenStates(p, table, { states, lengths }, target, config), config);
});

/** What cross-attention keeps of the source: keys and values for every layer. */
export function keptSource(config: EncoderDecoderConfig): { input: string; size: number }[] {
  const side = decoderSide(config);
  const { key, value } = headSizes(side);
  const ofLayer = (i: number) => [
    { input: `sourceKeys.${i}`, size: key },
    { input: `sourceValues.${i}`, size: value },
  ];
  return Array.from({ length: side.layers }, (_, i) => ofLayer(i)).flat();
}

const sourceInputs = { source: int32(["batch", "sourceTime"]), lengths: int32(["batch"]) };

/**
 * The model as it is used, in two parts: the encoder, which runs once and gives the keys and values that every layer of the decoder
 * has for the source; and the decoder, which goes on after tokens whose own keys and values are kept, [batch, vocab].
 */
export function encoderDecoderSteps(given: EncoderDecoderInput) {
  const config = encoderDecoderConfig({ ...given, dropout: 0 });
  const side = decoderSide(config);
  return {
    encode: tensorFunction(sourceInputs, (root, inputs) => {
      const p = root.at("model");
      const table = sourceTable(p, config) ?? targetTable(p, config);
      const states = encodedSource(p, table, inputs.source, inputs.lengths, config);
      const writer = p.at("decoder");
      const known = Array.from({ length: side.layers }, (_, i) =>
        knownSource(writer.at("block", i).at("cross"), states, blockConfig(side, i)),
      );
      const arrays = known.flatMap(({ k, v }) => [k, v]);
      return Object.fromEntries(keptSource(config).map(({ input }, i) => [input, arrays[i]]));
    }),
    next: tensorFunction(
      {
        ...stepInputs(side, "model/decoder"),
        ...keptInputs(keptSource(config), kvHeadsOf(side), "sourceTime"),
        lengths: int32(["batch"]),
      },
      (root, inputs: Readonly<Record<string, Tensor>>) => {
        const p = root.at("model");
        const writer = p.at("decoder");
        const table = targetTable(p, config);
        const pasts = continued(writer, inputs, side);
        const allowed = keyMask(realPlaces(inputs.lengths, inputs["sourceKeys.0"].shape[2]));
        const known = (i: number) => ({ k: inputs[`sourceKeys.${i}`], v: inputs[`sourceValues.${i}`] });
        const tokens = embedded(writer, table, inputs.ids, side, { places: pasts[0].places });
        const written = stack(writer, tokens, side, (i) => ({
          causal: true,
          past: pasts[i],
          memory: { known: known(i), allowed },
        }));
        return nextToken(tokenScores(p, table, lastOf(p, written, inputs.last), config));
      },
    ),
  };
}

/** The scores after targets that are equally long, from everything at once: for a decoder that cannot keep anything. */
export function encoderDecoderWhole(given: EncoderDecoderInput) {
  const config = encoderDecoderConfig({ ...given, dropout: 0 });
  return tensorFunction({ ...sourceInputs, ids: int32(["batch", "time"]) }, (p, { source, lengths, ids }) =>
    nextToken(final(encoderDecoder(p.at("model"), { source, lengths, target: ids }, config))),
  );
}

/** Its training loss: targets are the target tokens shifted by one. */
export function encoderDecoderLoss(given: EncoderDecoderInput, options: LossOptions = {}) {
  const config = encoderDecoderConfig(given);
  return pairLoss((p, pair) => encoderDecoder(p.at("model"), pair, config, modeOf(options)), options);
}
