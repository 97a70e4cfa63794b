import { chance } from "../../src/base/chance.ts";
import { type ModelInput, modelConfig, modelLoss } from "../../src/models/any.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { type TokenizerKind, trainTokenizer } from "../../src/tokens/index.ts";
import type { TrainedModel } from "../../src/trained/trained.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { inMemory } from "../support/trained-model.ts";

// Models in memory, with the weights that they start with, only larger: otherwise every pattern would be nearly even.

type WithoutVocab<Input> = Input extends unknown ? Omit<Input, "vocab"> : never;

const small = { layers: 2, heads: 2, width: 8, context: 12 };

export const inputs = {
  decoder: { model: "decoder", ...small },
  classifier: { model: "encoder", ...small, labels: 3 },
  "class token": { model: "encoder", ...small, labels: 3, pool: "class" },
  tagger: { model: "encoder", ...small, labels: 3, task: "tag" },
  "encoder–decoder": { model: "encoder-decoder", ...small },
  "rnn with attention": { model: "rnn", width: 8, context: 12 },
  "rnn in a loop": { model: "rnn", width: 8, context: 12, recurrence: "scanned" },
  "rnn without attention": { model: "rnn", width: 8, context: 12, attention: false },
  "rnn language model": { model: "rnn", width: 8, context: 12, task: "lm" },
} satisfies Record<string, WithoutVocab<ModelInput>>;

export async function runOf(input: WithoutVocab<ModelInput>, kind: TokenizerKind = "char"): Promise<TrainedModel> {
  const tokenizer = await trainTokenizer(kind, ["the cat sat, and it was glad; <b>it</b> slept"]);
  const model = modelConfig({ ...input, vocab: tokenizer.size } as ModelInput);
  const weights = initialise(parametersOf(modelLoss(model)), chance(5));
  for (const { name, offset, length } of weights.layout.entries) {
    const numbers = weights.data.subarray(offset, offset + length);
    if (/(weight|tokens|table)$/.test(name)) for (const [i, x] of numbers.entries()) numbers[i] = 12 * x;
    if (name.endsWith("scale")) for (const i of numbers.keys()) numbers[i] = 0.5 + chance(6).fork(name).uniform(i);
  }
  return inMemory(model, weights, tokenizer, ["good", "bad", "so"]);
}
