import type { LayerCost, OperationCost, PartCost, PhaseCost } from "../cost/cost.ts";
import type { LectureRow } from "../cost/lecture.ts";
import { type PhaseName, phaseNames } from "../cost/phases.ts";
import { type Scaling, scalingSteps, theory } from "../cost/scaling.ts";
import { type Architecture, architectureOf, type Transformer } from "../models/any.ts";
import { kvHeadsOf } from "../models/config.ts";
import type { CostFacts } from "./cost-facts.ts";
import { measuredSection, totalSection } from "./cost-training-report.ts";
import { grouped, percent, table, withUnit } from "./table.ts";

// What `qkv cost` prints for people: tables of at most a hundred columns.

const flops = (value: number): string => withUnit(value, "FLOP");
const bytes = (value: number): string => withUnit(value, "B");

export function report(facts: CostFacts): string {
  const { notes, lecture, phases, total, published, measured, decode } = facts;
  const { training, sequence, token } = phases;
  const sections = [
    introduction(facts),
    phaseTable(facts),
    partTable(phases),
    ...(training ? [`By operation, in a training step\n\n${operationTable(training.operations)}`] : []),
    ...(training ? [`By layer, in a training step\n\n${layerTable(training.layers)}`] : []),
    ...(sequence ? [`The lecture's table: a whole sequence forward\n\n${lectureTable(lecture.sequence)}`] : []),
    ...(token ? [`The lecture's table: one decoded token that sees ${grouped(decode)}\n\n${lectureTable(lecture.token)}`] : []),
    ...(notes.length > 0 ? [notes.map((note) => `* ${note}`).join("\n")] : []),
    ...(total ? [totalSection(facts.parameters, total, published)] : []),
    ...(measured ? [measuredSection(measured)] : []),
  ];
  return sections.join("\n\n");
}

function introduction({
  model: given,
  parameters,
  optimizer,
  stateBytes,
  batch,
  length,
  sourceLength,
  accumulate,
  decode,
  kvCacheBytes,
}: CostFacts): string {
  const model = architectureOf(given, "this report");
  const kind = model.model === "rnn" ? `${model.cell}, ` : `${headsOf(model)}, `;
  const source = sourceLength === undefined ? "" : `, source ${grouped(sourceLength)}`;
  const parts = accumulate === undefined ? "" : ` (the run adds up ${grouped(accumulate)} of these for each step of its optimizer)`;
  const token = model.model === "encoder" ? "" : `, a decoded token that sees ${grouped(decode)}`;
  const cache = model.model === "rnn" ? "states kept" : "KV-cache   ";
  return [
    `${model.model}: ${model.layers} ${model.layers === 1 ? "layer" : "layers"}, ${kind}width ${model.width}, vocabulary ${grouped(model.vocab)}`,
    `parameters  ${grouped(parameters)} (${bytes(4 * parameters)}; with gradients and ${optimizerTitles[optimizer]}'s state ${bytes(8 * parameters + stateBytes)})`,
    `counted at  batch ${grouped(batch)}${parts}, length ${grouped(length)}${source}${token}`,
    ...(kvCacheBytes > 0 ? [`${cache} ${bytes(kvCacheBytes)}${cacheSum(model, batch, decode, kvCacheBytes)}`] : []),
  ].join("\n");
}

const headsOf = (model: Transformer): string =>
  kvHeadsOf(model) === model.heads ? `${model.heads} heads` : `${model.heads} heads (${kvHeadsOf(model)} of keys and values)`;

/** The arithmetic of the ordinary case. */
function cacheSum({ layers, width }: Architecture, batch: number, decode: number, kvCacheBytes: number): string {
  if (kvCacheBytes !== 8 * batch * decode * width * layers) return "";
  return ` = 2 · ${batch} · ${decode} time · ${width} width · ${layers} layers × 4 bytes`;
}

const optimizerTitles: Readonly<Record<CostFacts["optimizer"], string>> = { adamw: "AdamW", adam: "Adam", sgd: "SGD", muon: "Muon" };

const phaseTitles: Readonly<Record<PhaseName, string>> = {
  training: "training step",
  sequence: "whole sequence, forward",
  token: "one decoded token",
};

function phaseTable({ phases, optimizer }: CostFacts): string {
  const rows = phaseNames.flatMap((name) => {
    const phase = phases[name];
    if (!phase) return [];
    const kept = phase.keptBytes > 0 ? bytes(phase.keptBytes) : "";
    const share = percent(phase.products / phase.flops);
    const title = name === "training" ? `${phaseTitles[name]} (${optimizerTitles[optimizer]})` : phaseTitles[name];
    return [[title, flops(phase.flops), share, bytes(phase.bytes), phase.intensity.toFixed(1), bytes(phase.activationBytes), kept]];
  });
  const header = ["", "arithmetic", "in products", "moved", "FLOP/B", "activations", "kept for way back"];
  const words = "activations: the most bytes alive at once; kept: those that the backward pass reads again";
  return `${table(header, rows)}\n${words}`;
}

function partTable({ training, sequence, token }: CostFacts["phases"]): string {
  const phase = training ?? sequence;
  if (!phase) return "";
  const parameters = phase.parts.reduce((sum, part) => sum + part.parameters, 0);
  const at = (other: PhaseCost | undefined, name: string) => other?.parts.find((part) => part.name === name)?.flops;
  const cell = (value: number | undefined) => (value === undefined ? "" : flops(value));
  const rows = phase.parts.map((part: PartCost) => [
    part.name,
    grouped(part.parameters),
    percent(part.parameters / parameters),
    flops(part.flops),
    percent(part.flops / phase.flops),
    bytes(part.bytes),
    cell(at(sequence, part.name)),
    cell(at(token, part.name)),
  ]);
  return `By part\n\n${table(["", "parameters", "share", "training", "share", "moved", "sequence", "token"], rows)}`;
}

function operationTable(operations: readonly OperationCost[]): string {
  const rows = operations
    .filter((one) => one.flops + one.bytes > 0)
    .toSorted((a, b) => b.flops - a.flops || b.bytes - a.bytes)
    .map((one) => [one.name, grouped(one.count), flops(one.flops), bytes(one.bytes), (one.flops / one.bytes).toFixed(2)]);
  return table(["", "nodes", "arithmetic", "moved", "FLOP/B"], rows);
}

/** Layers that cost the same are one row. */
function layerTable(layers: readonly LayerCost[]): string {
  const alike = new Map<string, LayerCost[]>();
  for (const one of layers) {
    const key = `${one.name.replace(/\d+$/, "")} ${one.flops} ${one.bytes} ${one.parameters}`;
    alike.set(key, [...(alike.get(key) ?? []), one]);
  }
  const rows = [...alike.values()].map((group) => {
    const [first] = group;
    const name = group.length === 1 ? first.name : `${first.name} and ${group.length - 1} more like it, each`;
    return [name, grouped(first.parameters), flops(first.flops), bytes(first.bytes), (first.flops / first.bytes).toFixed(2)];
  });
  return table(["", "parameters", "arithmetic", "moved", "FLOP/B"], rows);
}

function lectureTable(rows: readonly LectureRow[]): string {
  const factor = (counted: number, lecture: number) => `${+(counted / lecture).toPrecision(3)}`;
  const cells = rows.map(({ step, order, lecture, formula, counted, traffic }) => [
    step,
    order,
    withUnit(formula, ""),
    counted === formula ? "=" : "≠",
    withUnit(counted, ""),
    factor(counted, lecture),
    ...(traffic ? [traffic.order, withUnit(traffic.counted, ""), factor(traffic.counted, traffic.lecture)] : ["", "", ""]),
  ]);
  const header = ["", "FLOPs", "formula", "", "counted", "× O", "numbers moved", "counted", "× O"];
  return `${table(header, cells)}\n× O is the factor that O() leaves out; a number moved has four bytes`;
}

export function scalingReport({
  counted,
  measured,
}: {
  readonly counted: readonly Scaling[];
  readonly measured?: readonly Scaling[];
}): string {
  const sections = counted.map(({ axis, exponents, points }, i) => {
    const sizes = points.map((point) => point[axis]).join(", ");
    const fixed = axis === "length" ? `width ${points[0].width}` : `length ${points[0].length}`;
    const rows = scalingSteps.map((step) => [
      step,
      `${theory[axis][step]}`,
      exponents[step].toFixed(3),
      ...(measured ? [measured[i].exponents[step].toFixed(3)] : []),
    ]);
    const header = ["", "theory", "FLOPs", ...(measured ? ["measured time"] : [])];
    return `The exponent in the ${axis}: ${sizes}, at ${fixed}\n\n${table(header, rows)}`;
  });
  return sections.join("\n\n");
}
