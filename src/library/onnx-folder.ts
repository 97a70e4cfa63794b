import type { Graph } from "../graph/graph.ts";
import { type Architecture, architectureOf, givesSeveral } from "../models/any.ts";
import { decoderSide, kvHeadsOf } from "../models/config.ts";
import { headSizes } from "../models/continuation.ts";
import { frameOf, plainJson } from "../tokens/around.ts";
import { maskToken } from "../tokens/mask.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { knownMask } from "../trained/hiding.ts";
import { unwritten } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { ExportWeights, Shipped, Usage } from "./exporter.ts";

// What stands beside the ONNX files of an export: configs by which transformers.js chooses its classes and sizes its cache, the tokenizer,
// and how all of it is used. `model_type` says no more than that: the graph is what computes.

type Json = Readonly<Record<string, unknown>>;

/** What transformers.js calls weights. */
const dtypes: Readonly<Record<ExportWeights, string>> = { f32: "fp32", f16: "fp16", q8: "q8", q4: "q4" };

/** Every JSON file, by its name. `outside` are the ONNX files with their numbers beside them. */
export function onnxConfigs(trained: TrainedModel, weights: ExportWeights, outside: readonly string[]): Readonly<Record<string, Json>> {
  const { tokenizer, hub } = trained;
  const model = architectureOf(trained.model, "an export");
  const writes = model.model !== "encoder";
  const tokens = tokenIds(tokenizer);
  const config = {
    ...(originalConfig(trained, model) ?? ownConfig(trained, model)),
    ...tokens,
    ...(model.model === "encoder" && labelsOf(trained)),
    "transformers.js_config": {
      dtype: dtypes[weights],
      ...(outside.length > 0 && { use_external_data_format: Object.fromEntries(outside.map((file) => [file, 1])) }),
    },
  };
  return {
    "config.json": config,
    ...(writes && { "generation_config.json": { ...generationConfig(trained, model), ...tokens, ...hub?.generation } }),
    "tokenizer.json": tokenizerJson(trained, model),
    "tokenizer_config.json": { ...tokenizerConfig(tokenizer, model), ...knownTokenizer(hub?.tokenizerConfig), ...said(trained, model) },
  };
}

/** The config that a model came with, where it is of a class that has this task: one that labels texts with a decoder's blocks is not. */
function originalConfig({ hub }: TrainedModel, model: Architecture): Json | undefined {
  const readers: readonly unknown[] = ["bert", "roberta", "distilbert"];
  return hub && (model.model !== "encoder" || readers.includes(hub.config.model_type)) ? hub.config : undefined;
}

/** transformers 5 has a class for all tokenizer.json files that transformers.js 3 does not know. */
const knownTokenizer = (config: Json = {}): Json =>
  config.tokenizer_class === "TokenizersBackend" ? { ...config, tokenizer_class: "PreTrainedTokenizerFast" } : config;

/** A config of the class that fits: Llama's for decoders, BERT's for encoders, T5's for encoder–decoders; an RNN's has our own words. */
function ownConfig({ tokenizer }: TrainedModel, model: Architecture): Json {
  const common = { vocab_size: model.vocab, max_position_embeddings: model.context };
  switch (model.model) {
    case "decoder":
      return {
        model_type: "llama",
        architectures: ["LlamaForCausalLM"],
        ...common,
        hidden_size: model.width,
        intermediate_size: model.hidden ?? 4 * model.width,
        num_hidden_layers: model.layers,
        num_attention_heads: model.heads,
        num_key_value_heads: kvHeadsOf(model),
        head_dim: headSizes(model).key,
      };
    case "encoder":
      return {
        model_type: "bert",
        architectures: [encoderClasses[model.task].name],
        ...common,
        hidden_size: model.width,
        intermediate_size: model.hidden ?? 4 * model.width,
        num_hidden_layers: model.layers,
        num_attention_heads: model.heads,
        ...(givesSeveral(model) && { problem_type: "multi_label_classification" }),
      };
    case "encoder-decoder":
      return {
        model_type: "t5",
        architectures: ["T5ForConditionalGeneration"],
        is_encoder_decoder: true,
        ...common,
        d_model: model.width,
        d_ff: model.hidden ?? 4 * model.width,
        d_kv: headSizes(decoderSide(model)).key,
        num_heads: kvHeadsOf(decoderSide(model)),
        num_layers: model.layers,
        num_decoder_layers: decoderSide(model).layers,
        decoder_start_token_id: tokenizer.start ?? 0,
      };
    case "rnn":
      return {
        model_type: "qkv_rnn",
        ...common,
        hidden_size: model.width,
        num_hidden_layers: model.layers,
        cell: model.cell,
        ...(model.task === "translate" && { is_encoder_decoder: true, decoder_start_token_id: tokenizer.start ?? 0 }),
      };
  }
}

/** The class and the pipeline for what an encoder does. */
const encoderClasses = {
  classify: { name: "BertForSequenceClassification", task: "text-classification" },
  tag: { name: "BertForTokenClassification", task: "token-classification" },
  embed: { name: "BertModel", task: "feature-extraction" },
  mlm: { name: "BertForMaskedLM", task: "fill-mask" },
} as const;

function labelsOf({ labels }: TrainedModel): Json {
  if (labels.length === 0) return {};
  return {
    id2label: Object.fromEntries(labels.map((label, i) => [`${i}`, label])),
    label2id: Object.fromEntries(labels.map((label, i) => [label, i])),
  };
}

/** The tokens with a role. What fills up short rows is masked, so any token does where none is said. */
export function tokenIds(tokenizer: Tokenizer): Json {
  const { start, end, ends, pad = end ?? start ?? 0 } = tokenizer;
  const last = ends && ends.length > 1 ? ends : end;
  return { ...(start !== undefined && { bos_token_id: start }), ...(last !== undefined && { eos_token_id: last }), pad_token_id: pad };
}

/** What qkv itself does: the likeliest token, never one that stands for nothing that could be written, up to the context. */
function generationConfig(trained: TrainedModel, model: Architecture): Json {
  const { tokenizer } = trained;
  const never = [...unwritten(trained)].map((id) => [id]);
  return {
    max_length: model.context,
    do_sample: false,
    ...(never.length > 0 && { bad_words_ids: never }),
    ...(model.model === "encoder-decoder" && { decoder_start_token_id: tokenizer.start ?? 0 }),
  };
}

/** tokenizer.json; for a source, what stands after one is said in it. */
function tokenizerJson({ tokenizer, hub }: TrainedModel, model: Architecture): Json {
  const json = (hub ? tokenizer.json : plainJson(tokenizer)) as Json;
  const framed = frameOf(tokenizer).after.length > 0 || json.post_processor !== null;
  if (model.model !== "encoder-decoder" || tokenizer.end === undefined || framed) return json;
  const end = tokenizer.piece(tokenizer.end);
  return {
    ...json,
    post_processor: {
      type: "TemplateProcessing",
      single: [{ Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: end, type_id: 0 } }],
      pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 0 } }, { SpecialToken: { id: end, type_id: 0 } }],
      special_tokens: { [end]: { id: end, ids: [tokenizer.end], tokens: [end] } },
    },
  };
}

export function tokenizerConfig(tokenizer: Tokenizer, model: Architecture): Json {
  const named = (name: string, id: number | undefined) => (id === undefined ? {} : { [name]: tokenizer.piece(id) });
  const { unknown, start, end, pad = end ?? start ?? 0 } = tokenizer;
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    model_max_length: model.context,
    clean_up_tokenization_spaces: false,
    padding_side: model.model === "decoder" ? "left" : "right",
    ...named("unk_token", unknown),
    ...named("bos_token", start),
    ...named("eos_token", end),
    ...named("pad_token", pad),
    ...named("mask_token", maskToken(tokenizer)?.id),
  };
}

/** What transformers.js looks for in this file alone: the chat template, and whether a text to go on with has something in front of it. */
const said = ({ chat, tokenizer }: TrainedModel, { model }: Architecture): Json => ({
  ...(chat && { chat_template: chat.template }),
  ...(model === "decoder" && frameOf(tokenizer).before.length > 0 && { add_bos_token: true }),
});

/** The task that transformers.js has for it. */
function pipelineOf(model: Architecture): string | undefined {
  switch (model.model) {
    case "decoder":
      return "text-generation";
    case "encoder":
      return encoderClasses[model.task].task;
    case "encoder-decoder":
      return "translation";
    case "rnn":
      return undefined;
  }
}

/** What was written, and how it is used. */
export function onnxShipped(trained: TrainedModel, weights: ExportWeights, files: Readonly<Record<string, Graph>>): Shipped {
  const model = architectureOf(trained.model, "an export");
  const task = pipelineOf(model);
  const sample = model.model === "encoder" && model.task === "mlm" ? `Some ${knownMask(trained)?.token ?? "text"}.` : "Some text.";
  const names = Object.keys(files).map((name) => `onnx/${name}${fileEndings[weights]}.onnx`);
  return {
    kind: task ?? "onnx",
    metadata: task ? { library_name: "transformers.js", pipeline_tag: task } : { library_name: "onnx" },
    usage: [...(task ? [nodeUsage(task, model, sample), pageUsage(task, model, sample)] : []), pythonUsage(model, names[0], sample)],
    notes: [
      ...Object.values(files).map((graph, i) => interfaceOf(names[i], graph)),
      ...(model.model === "rnn" ? [rnnNote(model)] : []),
      ...roundingNotes(weights),
    ],
  };
}

/** How a pipeline is called. A translation may be as long as the context, and no longer. */
function callOf(task: string, { context }: Architecture, sample: string): string {
  const more: Readonly<Record<string, string>> = {
    "text-generation": `, { max_new_tokens: ${Math.min(50, context >> 1)} }`,
    "token-classification": ", { ignore_labels: [] }",
    "feature-extraction": ', { pooling: "mean", normalize: true }',
    translation: `, { max_new_tokens: ${context} }`,
  };
  return `await model("${sample}"${more[task] ?? ""})`;
}

const nodeUsage = (task: string, model: Architecture, sample: string): Usage => ({
  title: "Node",
  language: "js",
  code: `
import { env, pipeline } from "@huggingface/transformers"; // npm install @huggingface/transformers

env.localModelPath = "./"; // the folder that {{name}} lies in
env.allowRemoteModels = false;
const model = await pipeline("${task}", "{{name}}");
console.log(${callOf(task, model, sample)});`,
});

const pageUsage = (task: string, model: Architecture, sample: string): Usage => ({
  title: "A web page",
  language: "html",
  code: `
<script type="module">
import { env, pipeline } from "/transformers.min.js"; // from node_modules/@huggingface/transformers/dist

env.localModelPath = "/models/"; // where {{name}} is served
env.allowLocalModels = true;
env.allowRemoteModels = false;
env.backends.onnx.wasm.wasmPaths = "/ort/"; // node_modules/onnxruntime-web/dist
const model = await pipeline("${task}", "{{name}}");
console.log(${callOf(task, model, sample)});
</script>`,
});

/** ONNX Runtime alone, with the tokenizer of the folder: for labels and vectors one run, for texts a loop over a cache. */
function pythonUsage({ model }: Architecture, file: string, sample: string): Usage {
  const begin = `
import json, numpy, onnxruntime, tokenizers  # pip install onnxruntime tokenizers

session = onnxruntime.InferenceSession("${file}")`;
  const read = `
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
ids = numpy.array([tokenizer.encode("${sample}").ids], dtype=numpy.int64)`;
  const title = "Python, with ONNX Runtime alone";
  const code =
    model === "encoder" ? `${begin}${read}${encoderRun}` : model === "decoder" ? `${begin}${read}${decoderRun}` : `${begin}${interfaceRun}`;
  return { title, language: "python", code };
}

const encoderRun = `
feeds = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
wanted = [x.name for x in session.get_inputs()]
results = dict(zip([x.name for x in session.get_outputs()], session.run(None, {name: feeds[name] for name in wanted})))
for name, value in results.items():
    print(name, value)
print(json.load(open("config.json")).get("id2label"))`;

const decoderRun = `
config = json.load(open("generation_config.json"))
ends = numpy.atleast_1d(config.get("eos_token_id", -1))
names = [x.name for x in session.get_inputs()]
cache = {x.name: numpy.zeros([1, x.shape[1], 0, x.shape[3]], numpy.float32) for x in session.get_inputs() if x.name.startswith("past_key_values")}
text, new = ids, ids
for _ in range(20):
    places = numpy.arange(text.shape[1] - new.shape[1], text.shape[1], dtype=numpy.int64)[None]
    feeds = {"input_ids": new, "attention_mask": numpy.ones_like(text), "position_ids": places, **cache}
    results = dict(zip([x.name for x in session.get_outputs()], session.run(None, {name: feeds[name] for name in names})))
    cache = {name: results[name.replace("past_key_values", "present")] for name in cache}
    scores = results["logits"][0, -1]
    scores[[id for [id] in config.get("bad_words_ids", [])]] = -numpy.inf
    new = scores.argmax().reshape(1, 1).astype(numpy.int64)
    if new[0, 0] in ends:
        break
    text = numpy.concatenate([text, new], 1)
print(tokenizer.decode(text[0].tolist()))`;

const interfaceRun = `
for each in [*session.get_inputs(), *session.get_outputs()]:
    print(each.name, each.type, each.shape)`;

/** An RNN has no pipeline: how its files are used one after the other. */
const rnnNote = ({ task, context }: Extract<Architecture, { model: "rnn" }>): string =>
  task === "lm"
    ? "A step reads one token for each row. `past_states` begin with zeros, and `present_states` are the `past_states` of the next step; `logits` score the next token."
    : `The encoder reads sources that are filled up to ${context} tokens, with 0 in \`attention_mask\` where they are, and ends with \`present_states\`, the decoder's first \`past_states\`. A step of the decoder reads one token for each row.`;

/** What transformers.js looks for, by the weights that it is asked for. */
export const fileEndings: Readonly<Record<ExportWeights, string>> = { f32: "", f16: "_fp16", q8: "_quantized", q4: "_q4" };

/** One file's inputs and outputs, those of layers by the first. */
function interfaceOf(file: string, { inputs, outputs }: Graph): string {
  const list = (tensors: Graph["inputs"]) =>
    [...tensors]
      .filter(([each]) => !/\.[1-9]\d*(\.|$)/.test(each))
      .map(
        ([each, { dtype, shape }]) =>
          `\`${each.replace(/\.0(?=\.|$)/, ".N")}\` ${dtype} [${shape.map((dim) => dim.expression).join(", ")}]`,
      )
      .join(", ");
  return `\`${file}\`: ${list(inputs)} → ${list(outputs)}`;
}

const roundingNotes = (weights: ExportWeights): string[] => {
  const notes: Partial<Record<ExportWeights, string>> = {
    f16: "Numbers of 16 bits become 32 bits when the file is loaded, and all arithmetic is in 32.",
    q8: "Numbers of 8 bits become 32 bits when the file is loaded, and all arithmetic is in 32: a small file, about as fast as the large one.",
    q4: "Products with 4 bits are ONNX Runtime's own (`MatMulNBits`), which other runtimes may lack.",
  };
  const note = notes[weights];
  return note === undefined ? [] : [note];
};
