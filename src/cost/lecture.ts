import type { Part } from "../graph/place.ts";
import { isGated } from "../layers/feedforward.ts";
import { architectureOf, hasClassToken } from "../models/any.ts";
import { kvHeadsOf, type RnnConfig } from "../models/config.ts";
import type { ModelCost } from "./cost.ts";
import { causalShare, productFormulas } from "./formulas.ts";
import type { PhaseName } from "./phases.ts";

// The lecture's table beside the counts: batch b, time n (of a source m), width d, h heads. O() hides a factor; here it is seen.

export interface LectureRow {
  readonly step: string;
  /** As the lecture writes it. */
  readonly order: string;
  /** The expression inside O(), for all layers. */
  readonly lecture: number;
  /** FLOPs of products by formula, and as counted in the graph. */
  readonly formula: number;
  readonly counted: number;
  /** Memory traffic in numbers (four bytes each): the lecture's expression, and as counted. */
  readonly traffic?: { readonly order: string; readonly lecture: number; readonly counted: number };
}

interface Step {
  readonly step: string;
  readonly parts: readonly Part[];
  readonly flops: readonly [string, number];
  readonly traffic?: readonly [string, number];
}

const attentionParts: readonly Part[] = ["projections", "scores", "softmax", "weighted sum", "output projection", "heads"];

/** The lecture's rows for the whole sequence or for one decoded token. Empty for a phase that the model does not have. */
export function lectureRows(cost: ModelCost, name: Exclude<PhaseName, "training">): LectureRow[] {
  const { model, batch, length, sourceLength = 0, decode } = cost;
  const phase = cost.phases[name];
  if (!phase) return [];
  const formulas = productFormulas(model, name, { batch, length, sourceLength, decode }, phase.queryBlocks);
  const sumOf = (parts: readonly Part[], value: (part: Part) => number) => parts.reduce((total, part) => total + value(part), 0);
  const found = new Map(phase.parts.map((part) => [part.name, part]));
  return stepsOf(cost, name)
    .filter(({ parts }) => parts.some((part) => formulas.has(part)))
    .map(({ step, parts, flops: [order, lecture], traffic }) => ({
      step,
      order,
      lecture,
      formula: sumOf(parts, (part) => formulas.get(part) ?? 0),
      counted: sumOf(parts, (part) => (formulas.has(part) ? (found.get(part)?.products ?? 0) : 0)),
      ...(traffic && {
        traffic: { order: traffic[0], lecture: traffic[1], counted: sumOf(parts, (part) => found.get(part)?.bytes ?? 0) / 4 },
      }),
    }));
}

function stepsOf(cost: ModelCost, name: "sequence" | "token"): Step[] {
  const { batch: b, length, sourceLength: m = 0, decode, phases } = cost;
  const model = architectureOf(cost.model, "the lectures' table");
  if (model.model === "rnn") return recurrentSteps(model, cost, name);
  const { width: d, heads: h, layers } = model;
  const all = (value: number) => layers * b * value;
  const kept = phases[name]?.sizes.past !== undefined;
  if (model.model === "encoder-decoder") {
    const n = name === "token" ? decode : length;
    const [rows, pairs] = kept ? [1, n + m] : [n + m, n * n + m * m + n * m];
    const [by, over] = kept ? ["O(b d²)", "O(b (n+m) d)"] : ["O(b (n+m) d²)", "O(b (n²+m²+nm) d)"];
    return [
      ...steps(all(rows * d * d), all(pairs * d), by, over),
      {
        step: kept ? "one decoded token" : "whole pair",
        parts: [...attentionParts, "feed-forward"],
        flops: [kept ? "O(b d² + b (n+m) d)" : "O(n²d+nd²+m²d+md²+nmd)", all(pairs * d + rows * d * d)],
      },
    ];
  }
  const n = kept ? decode : (phases[name]?.sizes.time ?? length);
  const q = kept ? 1 : n; // positions that ask
  const [by, over] = kept ? ["O(b d²)", "O(b n d)"] : ["O(b n d²)", "O(b n² d)"];
  const w = layers * d * d;
  const moved = kept ? ["O(2bd + d²)", "O(bd + bnd + bhn)"] : ["O(2bnd + d²)", "O(2bnd + bhn²)"];
  const pairsMoved = all(q * d + n * d + h * q * n);
  const whole: Step = kept
    ? {
        step: "one decoded token",
        parts: [...attentionParts, "feed-forward"],
        flops: ["O(b d² + b n d)", all(d * d + n * d)],
        traffic: ["O(bhn + bnd + d²)", all(h * n + n * d) + w],
      }
    : {
        step: "whole sequence",
        parts: [...attentionParts, "feed-forward"],
        flops: ["O(b n d² + b n² d)", all(n * d * d + n * n * d)],
        traffic: ["O(bnd + bhn² + d²)", all(n * d + h * n * n) + w],
      };
  const traffic: Readonly<Record<string, readonly [string, number]>> = {
    projections: [moved[0], all(2 * q * d) + w],
    scores: [moved[1], pairsMoved],
    "weighted sum": [moved[1], pairsMoved],
    "output projection": [moved[0], all(2 * q * d) + w],
    "feed-forward": [moved[0].replace("d²", "8d²"), all(2 * q * d) + 8 * w],
  };
  return [...steps(all(q * d * d), all(q * n * d), by, over).map((step) => ({ ...step, traffic: traffic[step.step] })), whole];
}

/** The five steps of a block: rows times matrices, and pairs. */
function steps(rows: number, pairs: number, by: string, over: string): Step[] {
  return [
    { step: "projections", parts: ["projections"], flops: [by, rows] },
    { step: "scores", parts: ["scores"], flops: [over, pairs] },
    { step: "weighted sum", parts: ["weighted sum"], flops: [over, pairs] },
    { step: "output projection", parts: ["output projection"], flops: [by, rows] },
    { step: "feed-forward", parts: ["feed-forward"], flops: [by.replace("O(", "O(16 "), 16 * rows] },
  ];
}

function recurrentSteps(
  { width: d, layers }: RnnConfig,
  { batch: b, length, sourceLength: m = 0 }: ModelCost,
  name: "sequence" | "token",
): Step[] {
  const token = name === "token";
  const n = token ? 1 : length;
  const [read, rows] = token ? [0, "O(b d²)"] : m === 0 ? [0, "O(b n d²)"] : [m, "O(b (n+m) d²)"];
  const pairs = token ? "O(b m d)" : "O(b n m d)";
  return [
    { step: "recurrence", parts: ["recurrence"], flops: [rows, layers * b * (n + read) * d * d] },
    { step: "scores", parts: ["scores"], flops: [pairs, b * n * m * d] },
    { step: "weighted sum", parts: ["weighted sum"], flops: [pairs, b * n * m * d] },
    { step: "output projection", parts: ["output projection"], flops: [token ? "O(b d²)" : "O(b n d²)", b * n * d * d] },
  ];
}

/** Why counts differ from the lecture's ordinary case, one sentence each. */
export function lectureNotes({ model: given, phases }: ModelCost): string[] {
  const model = architectureOf(given, "the lectures' table");
  const notes: string[] = [];
  const blocks = phases.training?.queryBlocks ?? 1;
  if (blocks > 1)
    notes.push(`training compares ${causalShare(blocks)} of all n² pairs: its ${blocks} blocks of queries leave out the keys after them`);
  if (model.model === "rnn") {
    notes.push("an RNN does its n steps one after the other; attention does them all at once");
    if (model.task === "translate" && model.attention && model.score === "additive")
      notes.push("additive scores project all states of the source again for each decoded token: O(b m d²)");
    return notes;
  }
  if (hasClassToken(model)) notes.push("the class token is one position more");
  const { width, hidden = 4 * width, activation, multiHead, keySize, valueSize, heads, score } = model;
  if (isGated(activation)) notes.push(`${activation} has a third matrix beside the two of the feed-forward layer`);
  if (hidden !== 4 * width) notes.push(`the feed-forward layer has ${hidden} = ${+(hidden / width).toFixed(2)}·d inside, not 4·d`);
  if (multiHead === "wide") notes.push(`wide heads have d² weights each: ${heads} times the projections of split heads`);
  if (multiHead === "narrow") notes.push(`narrow heads see a part of the input each: 1/${heads} of the projections of split heads`);
  if (keySize !== undefined || valueSize !== undefined) notes.push("key and value sizes are given, so heads · size is not d");
  if (kvHeadsOf(model) !== heads)
    notes.push(`${kvHeadsOf(model)} heads of keys and values serve ${heads} heads of queries, and so much less is projected and kept`);
  if (model.window !== undefined) notes.push(`a window of ${model.window} keys masks the others; they are compared all the same`);
  if (model.scoreCap !== undefined) notes.push("capped scores are computed again on the way back");
  if (model.model === "encoder-decoder" && (model.decoderLayers ?? model.decoderHeads ?? model.decoderHidden) !== undefined)
    notes.push("the decoder has sizes of its own, so O() is that of the encoder's");
  if (score === "bilinear" || score === "additive") notes.push(`${score} scores have products of their own`);
  if (phases.token && phases.token.sizes.past === undefined)
    notes.push("with this mask nothing can be kept, so a token costs the whole sequence again");
  else if (model.model === "encoder-decoder")
    notes.push("before the first token the encoder runs once, and so do the keys and values of cross-attention");
  return notes;
}
