import { ConfigError } from "../base/errors.ts";
import { cleanUp } from "../graph/cleanup.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { isConstant, isParameter, leafName } from "../graph/leaves.ts";
import { standardFeatures, type Target } from "../graph/target.ts";
import { size } from "../graph/type.ts";
import { described, type ModelConfig } from "../models/any.ts";
import { keepsPast } from "../models/continuation.ts";
import {
  type PortableOptions,
  portableDecoder,
  portableEncoder,
  portableEncoderDecoder,
  portableRnnEncoder,
  portableRnnStep,
} from "../models/portable.ts";
import { emitOnnx, type WeightSource } from "../onnx/emit.ts";
import { isEmbedding } from "../ops/lookup.ts";
import { foldConstants } from "../runtime/fold.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { halfBits } from "../weights/half.ts";
import { quantiseGraph } from "../weights/quantise.ts";
import type { Exporter, ExportJob, ExportWeights, Shipped } from "./exporter.ts";
import { fileEndings, onnxConfigs, onnxShipped } from "./onnx-folder.ts";

// A folder that transformers.js runs as it is, and ONNX Runtime in any language: onnx/*.onnx, and what says how they are used.

export const onnxExporter: Exporter = { weights: ["f32", "f16", "q8", "q4"], attentions: true, write };

/** Operators that all readers know: transformers.js 3.8 ends here, and nothing of ours is newer. */
const opset = 21;

/** What the files' readers have beside ONNX's own operators: products with 4-bit weights, in Node, in a page and on WebGPU. */
const target: Target = {
  name: "an exported file",
  can: (feature) => feature === "few-bit-products" || (standardFeatures.has(feature) && feature !== "float64"),
};

async function write(job: ExportJob): Promise<Shipped> {
  const { trained, weights, attentions } = job;
  const files = portableFiles(trained, { attentions });
  const outside: string[] = [];
  for (const [name, graph] of Object.entries(files)) {
    const file = `${name}${fileEndings[weights]}.onnx`;
    if (await writeModel(job, file, graph)) outside.push(file);
  }
  for (const [name, content] of Object.entries(onnxConfigs(trained, weights, outside)))
    job.write(name, `${JSON.stringify(content, null, 2)}\n`);
  return onnxShipped(trained, weights, files);
}

/** The files of a model, by name and what they compute. */
function portableFiles({ model, temperature }: TrainedModel, options: PortableOptions): Readonly<Record<string, Graph>> {
  switch (model.model) {
    case "decoder":
      refuseUncached(model);
      return { model: portableDecoder(model, options) };
    case "encoder":
      return { model: portableEncoder(model, { ...options, temperature }) };
    case "encoder-decoder": {
      refuseUncached(model);
      const { encoder, decoder } = portableEncoderDecoder(model, options);
      return { encoder_model: encoder, decoder_model_merged: decoder };
    }
    case "rnn":
      if (options.attentions) throw noPatterns(model);
      return model.task === "lm"
        ? { model: portableRnnStep(model) }
        : { encoder_model: portableRnnEncoder(model), decoder_model: portableRnnStep(model) };
    case "own":
      throw new ConfigError(
        `${described(model)} is a program's own, and a folder of files has no place for its inputs; emitOnnx writes its graph`,
        { code: "config.task" },
      );
  }
}

const noPatterns = (model: ModelConfig): ConfigError =>
  new ConfigError(`${described(model)} has no attention patterns for each layer to put out`, {
    code: "config.conflict",
    path: "attentions",
  });

function refuseUncached(model: Extract<ModelConfig, { model: "decoder" | "encoder-decoder" }>): void {
  if (keepsPast(model)) return;
  throw new ConfigError(
    `${described(model)} whose earlier tokens see later ones (mask ${model.mask}) keeps nothing of them, and readers of these files go on from what is kept`,
    { code: "config.conflict", path: "model.mask" },
  );
}

/** Writes one model; says whether its numbers went into a file beside it. */
async function writeModel(job: ExportJob, file: string, built: Graph): Promise<boolean> {
  const { trained, weights } = job;
  const folded = await foldConstants(cleanUp(built), trained.device.engine);
  const graph = withoutUnread(rounded(folded, weights, (name) => trained.weights.numbers(name)));
  const halved = halvedIn(graph, weights);
  const large = bytesOf(graph, halved) > job.largest;
  const beside = large ? job.growing(`onnx/${file}_data`) : undefined;
  const source = (name: string): WeightSource => {
    const data = trained.weights.numbers(name);
    return halved.has(name) ? { kind: "half", data: halves(data, name) } : { kind: "inline", data };
  };
  try {
    const outside = beside && { file: `${file}_data`, write: (bytes: Uint8Array) => beside.write(bytes) };
    job.write(`onnx/${file}`, [emitOnnx(graph, { weights: source, target, opset, plainNames: true, outside })]);
  } finally {
    beside?.close();
  }
  return large;
}

/**
 * 4 bits are read by products of their own, which all engines of transformers.js have. Of 8 bits only the newest have them, and in a page
 * they are ten times as slow as those of 32; so these numbers are turned into 32 bits in ONNX's own operators, which an engine does once,
 * while it loads the file.
 */
function rounded(graph: Graph, weights: ExportWeights, numbers: (name: string) => Float32Array): Graph {
  if (weights === "q4") return quantiseGraph(graph, 4, numbers);
  return weights === "q8" ? quantiseGraph(graph, 8, numbers, "numbers") : graph;
}

/** Matrices that were rounded are constants now, and their numbers of 32 bits must not be written too. */
function withoutUnread(graph: Graph): Graph {
  const read = new Set<unknown>(graphNodes(graph));
  return { ...graph, parameters: new Map([...graph.parameters].filter(([, { node }]) => read.has(node))) };
}

/**
 * Which parameters have 16 bits: all, or beside matrices of few bits the tables that are looked up, which are the greater part of a small
 * model. The model itself turns them into 32 bits, so that its arithmetic is the same everywhere, also where there is none of 16.
 */
function halvedIn(graph: Graph, weights: ExportWeights): ReadonlySet<string> {
  if (weights === "f32") return new Set();
  if (weights === "f16") return new Set(graph.parameters.keys());
  return new Set(graphNodes(graph).flatMap((node) => (isEmbedding(node) && isParameter(node.inputs[0]) ? [leafName(node.inputs[0])] : [])));
}

/** Bytes of all weights and constants. */
function bytesOf(graph: Graph, halved: ReadonlySet<string>): number {
  let bytes = 0;
  for (const node of graphNodes(graph)) {
    if (isConstant(node)) bytes += node.attributes.data.byteLength;
    if (isParameter(node)) bytes += size(node.outputs[0].type).known * (halved.has(leafName(node.outputs[0])) ? 2 : 4);
  }
  return bytes;
}

function halves(numbers: Float32Array, name: string): Uint16Array {
  const found = new Uint16Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    found[i] = halfBits(numbers[i]);
    if ((found[i] & 0x7fff) === 0x7c00)
      throw new ConfigError(`the weights ${name} have ${numbers[i]}, and numbers of 16 bits end at 65,504; keep them in 32, f32`, {
        code: "config.range",
        path: "weights",
      });
  }
  return found;
}
