import type { ParameterBuffer } from "../../src/graph/parameters.ts";
import type { ModelConfig } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import type { Tokenizer } from "../../src/tokens/tokenizer.ts";
import { TrainedModel } from "../../src/trained/trained.ts";
import { weightsInMemory } from "../../src/weights/weights.ts";

/** A trained model of weights in memory, on one thread. */
export const inMemory = (model: ModelConfig, weights: ParameterBuffer, tokenizer: Tokenizer, labels?: readonly string[]): TrainedModel =>
  new TrainedModel({ model, tokenizer, labels, weights: weightsInMemory(weights), device: nodeDevice({ threads: 1 }) });

/** A tokenizer that has ids and no text. */
export const idsOnly = (ids: Pick<Tokenizer, "start" | "end">): Tokenizer => ({
  kind: "other",
  size: 0,
  json: {},
  encode: () => new Int32Array(0),
  decode: () => "",
  piece: (id) => `${id}`,
  ...ids,
});
