import { asDecoder, asItCame, windowOf } from "./decoder-parts.ts";
import { type Family, rowsFrom, type TensorRule } from "./family.ts";
import { llamaIgnores, llamaLike, llamaTensors } from "./llama.ts";

// Descendants of Llama that differ in a setting or two.

const kin = (name: string, modelTypes: readonly string[], architectures: readonly string[], read: Family["read"]): Family => ({
  name,
  modelTypes,
  architectures,
  prefix: "model.",
  read,
  write: asItCame(name),
  tensors: (model) => llamaTensors(asDecoder(model)),
  ignores: (tensor, model) => llamaIgnores(tensor, asDecoder(model)),
});

/** A window that only the layers from `max_window_layers` on have is refused, unless these are all or none. */
function qwenWindow(hf: Parameters<Family["read"]>[0], layers: number): Record<string, unknown> {
  const [used, window, from] = [hf.boolean("use_sliding_window", false), hf.wholeOrNone("sliding_window"), hf.value("max_window_layers")];
  if (!used) {
    hf.value("layer_types");
    return {};
  }
  if (typeof from === "number" && from > 0 && from < layers && !Array.isArray(hf.value("layer_types")))
    hf.problem(`max_window_layers is ${from}: a window in some of the ${layers} layers only is not known`);
  return typeof from === "number" && from >= layers ? windowOf(hf, layers, undefined) : windowOf(hf, layers, window);
}

export const qwen2 = kin("Qwen 2", ["qwen2"], ["Qwen2ForCausalLM"], (hf) => {
  const model = llamaLike(hf);
  return { model: { ...model, bias: "qkv", ...qwenWindow(hf, model.layers) } };
});

export const qwen3 = kin("Qwen 3", ["qwen3"], ["Qwen3ForCausalLM"], (hf) => {
  const model = llamaLike(hf);
  return { model: { ...model, bias: hf.boolean("attention_bias", false) ? "all" : "none", qkNorm: true, ...qwenWindow(hf, model.layers) } };
});

export const mistral = kin("Mistral", ["mistral"], ["MistralForCausalLM"], (hf) => {
  const model = llamaLike(hf);
  return { model: { ...model, bias: "none", ...windowOf(hf, model.layers, hf.wholeOrNone("sliding_window")) } };
});

/** Phi-3: the matrices of queries, keys and values lie in one tensor, and so do gate and raise. */
export const phi3: Family = {
  ...kin("Phi-3", ["phi3"], ["Phi3ForCausalLM"], (hf) => {
    const model = llamaLike(hf, { epsilon: 1e-5 });
    hf.value("original_max_position_embeddings"); // of scaled positions, which rope_scaling tells
    return { model: { ...model, bias: "none", ...windowOf(hf, model.layers, hf.wholeOrNone("sliding_window")) } };
  }),
  tensors(model) {
    const { hidden = 0, width } = asDecoder(model);
    return llamaTensors(asDecoder(model)).map((rule) => ("theirs" in rule ? joinedOfPhi(rule.ours, rule.theirs, hidden, width) : rule));
  },
};

function joinedOfPhi(ours: string, theirs: Extract<TensorRule, { theirs: unknown }>["theirs"], hidden: number, width: number): TensorRule {
  if (ours.endsWith("/qkv/weight")) {
    const name = theirs[0].name.replace("q_proj", "qkv_proj");
    return { ours, theirs: [{ name, shape: [theirs.reduce((sum, { shape }) => sum + shape[0], 0), width] }] };
  }
  const part = ours.endsWith("/gate/weight") ? 0 : ours.endsWith("/expand/weight") ? 1 : undefined;
  if (part === undefined) return { ours, theirs };
  const name = theirs[0].name.replace(/gate_proj|up_proj/, "gate_up_proj");
  return { ours, theirs: [{ name, shape: [2 * hidden, width], turn: rowsFrom(part * hidden, hidden) }] };
}
