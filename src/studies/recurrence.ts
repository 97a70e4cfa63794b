import { measureMemory, memoryContext, memoryPairs } from "./memory.ts";
import { measureRecall, recallContext, recallText } from "./recall.ts";
import type { Row, Study } from "./study.ts";

const reader = (name: string, what: string, model: Row["model"]): Row => ({
  name,
  what,
  data: recallText,
  tokenizer: "char",
  model: { width: 128, context: recallContext, ...model },
  training: { batch: 32, lr: 2e-3 },
  measure: measureRecall,
});

const writer = (order: "forwards" | "backwards", attention: boolean): Row => ({
  name: attention ? `${order}-attention` : order,
  what: `20 letters are written ${order} by a GRU ${attention ? "with attention" : "from one vector"}`,
  data: memoryPairs(order),
  tokenizer: "char",
  model: { model: "rnn", cell: "gru", width: 128, context: memoryContext, attention, dropout: 0 },
  training: { batch: 64, lr: 2e-3, labelSmoothing: 0 },
  measure: measureMemory(order),
});

export const recurrence: Study = {
  name: "recurrence",
  teaches:
    "The RNN's story: a plain RNN's gradient fades with every step back, gates keep it alive for longer, and attention reaches any distance in one step. Then the bottleneck: which letters are lost when one vector holds the whole source.",
  minutes: 3,
  rows: [
    reader("rnn", "a plain RNN language model", { model: "rnn", cell: "rnn" }),
    reader("gru", "the same with gates (GRU)", { model: "rnn", cell: "gru" }),
    reader("lstm", "the same with gates and a cell of its own (LSTM)", { model: "rnn", cell: "lstm" }),
    reader("attention", "a decoder of two layers", { model: "decoder", layers: 2, heads: 4 }),
    writer("forwards", false),
    writer("forwards", true),
    writer("backwards", false),
    writer("backwards", true),
  ],
};
