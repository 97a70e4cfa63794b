import { array, type HostArray } from "../base/arrays.ts";
import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { grad } from "../gradients/grad.ts";
import { type TensorFunction, tensorFunction } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import { architectureOf, givesSeveral, type ModelConfig, modelLoss, readsSource, takesAnyLength } from "../models/any.ts";
import { div, mul, sub } from "../ops/arithmetic.ts";
import { cast, equal, greaterOrEqual, where } from "../ops/compare.ts";
import { iota } from "../ops/fill.ts";
import { lowest } from "../ops/mask.ts";
import { reshape } from "../ops/movement.ts";
import { logSoftmax } from "../ops/softmax.ts";
import { sum } from "../ops/sum.ts";
import { compile } from "../runtime/compile.ts";
import type { Arrays } from "../runtime/session.ts";
import { shownPiece } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { answersOf, highestPlaces, rowsOf } from "./answers.ts";
import { type Reading, type ReadingOptions, readingOf } from "./reading.ts";
import { probabilityIn, repeated } from "./variants.ts";

// What spoke for an answer, and what against it, token by token: by the gradient, and by leaving each token out.

export interface AttributionOptions extends ReadingOptions {
  /** The label, tag or token that is explained; if left out, the likeliest, or what the target says there. */
  readonly label?: string;
  /** Where: the tag of this position, the token that comes after it or that is said there, from 0. Left out: the last; of a target, the first. */
  readonly position?: number;
}

export interface AttributedTokens {
  /** Which tokens: those of the text, or those of the target so far. */
  readonly of: "text" | "target";
  readonly tokens: readonly string[];
  /** Gradient × input: Σ_d x_d ∂(log p/(1 − p))/∂x_d over the dimensions of a token's embedding x, in nats of the answer's log-odds. */
  readonly gradient: readonly number[];
  /** How much less likely the answer is without the token: its embedding is 0, its place stays. */
  readonly leaveOneOut: readonly number[];
}

export interface Attribution {
  readonly answer: {
    readonly of: "label" | "tag" | "next token";
    readonly label: string;
    readonly probability: number;
    /** Of a tag or a token. */
    readonly position?: number;
  };
  readonly parts: readonly AttributedTokens[];
}

/** Why a model answers what it answers. */
export async function attributionOf(run: TrainedModel, text: string, options: AttributionOptions = {}): Promise<Attribution> {
  const model = architectureOf(run.model, "attribution");
  const { label, position, ...rest } = options;
  const several = givesSeveral(model);
  if (model.model === "encoder" && model.task !== "classify" && model.task !== "tag")
    throw new ConfigError("attribution explains labels and next tokens; this model has neither", { code: "config.task" });
  if (model.model === "encoder" && model.labels < 2 && !several)
    throw new ConfigError("there is one label only, so nothing speaks for or against it");
  const keep = model.model === "encoder" || readsSource(model) ? "first" : "last";
  const reading = await readingOf(run, text, { keep, ...rest });
  const rows = rowsOf((await answersOf(run, reading)).logProbabilities);
  const at = chosenPosition(model, rows.length, position);
  const answer = label === undefined ? usualAnswer(model, reading, rows, at) : placeOfLabel(run, label);
  const places = inputPlaces(model, reading, at);
  const feeds = {
    ...reading.feeds,
    targets: several ? onlyThere(reading.feeds.targets, answer) : onlyAt(reading.feeds.targets, at, answer),
  };
  const results = await differentiated(run, feeds, places);
  const probability = Math.exp(rows[at][answer]);
  const parts: AttributedTokens[] = [];
  for (const { of, tap, tokens } of places) {
    const embedded = results[tap];
    const gradient = products(embedded, results[gradientName(tap)]).slice(0, tokens.length);
    const without = await probabilitiesWithout(run, feeds, tap, embedded, tokens.length, { at, answer });
    parts.push({ of, tokens, gradient, leaveOneOut: without.map((left) => probability - left) });
  }
  const of = model.model !== "encoder" ? "next token" : model.task === "tag" ? "tag" : "label";
  return { answer: { of, label: nameOf(run, answer), probability, ...(of !== "label" && { position: at }) }, parts };
}

function chosenPosition(model: ModelConfig, count: number, asked: number | undefined): number {
  if (asked === undefined) return readsSource(model) ? 0 : count - 1;
  if (model.model === "encoder" && model.task === "classify")
    throw new ConfigError("a label belongs to the whole text; leave the position out");
  if (!Number.isInteger(asked) || asked < 0 || asked >= count)
    throw new ConfigError(`there is no position ${asked} to explain; there are ${count}, counted from 0`);
  return asked;
}

/** What the target says there, where there is one; else what is likeliest. */
function usualAnswer(model: ModelConfig, { feeds }: Reading, rows: readonly Float32Array[], at: number): number {
  const said = readsSource(model) ? Number(feeds.targets.data[at]) : -1;
  return said >= 0 ? said : highestPlaces(rows[at], 1)[0];
}

const nameOf = ({ model, labels, tokenizer }: TrainedModel, answer: number): string =>
  model.model === "encoder" ? (labels[answer] ?? String(answer)) : shownPiece(tokenizer, answer);

function placeOfLabel(run: TrainedModel, label: string): number {
  const { model, tokenizer } = run;
  const count = model.model === "encoder" ? model.labels : tokenizer.size;
  const names = Array.from({ length: count }, (_, i) => nameOf(run, i));
  const found = names.indexOf(label);
  if (found >= 0) return found;
  const what = model.model === "encoder" ? "label" : "token";
  throw new ConfigError(`no ${what} is called "${label}"${suggest(label, names) || `; there are ${names.slice(0, 12).join(", ")}`}`);
}

/** The target that counts, and no other: the loss is then −log p of one answer. */
function onlyAt({ shape, data }: HostArray, at: number, answer: number): HostArray {
  const targets = new Int32Array(data.length).fill(-1);
  targets[shape.length === 1 ? 0 : at] = answer;
  return array("int32", targets, shape);
}

/** The same where each label is there or not: this one is, and no other counts. */
function onlyThere({ shape, data }: HostArray, answer: number): HostArray {
  const targets = new Int32Array(data.length).fill(-1);
  targets[answer] = 1;
  return array("int32", targets, shape);
}

interface InputPlace {
  readonly of: "text" | "target";
  readonly tap: string;
  readonly tokens: readonly string[];
}

/** Where a model's tokens become vectors, with the tokens that can matter: none of the future. */
function inputPlaces(model: ModelConfig, { tokens, target }: Reading, at: number): InputPlace[] {
  const place = (of: InputPlace["of"], scope: string, names: readonly string[]) => ({ of, tap: `${scope}/embedded`, tokens: names });
  if (target) return [place("text", "model/encoder", tokens), place("target", "model/decoder", target.read.slice(0, at + 1))];
  if (model.model === "encoder") return [place("text", "encoder", tokens)];
  const seesAll = model.model === "decoder" && model.mask === "none";
  return [place("text", model.model === "rnn" ? "model" : model.model, seesAll ? tokens : tokens.slice(0, at + 1))];
}

const gradientName = (tap: string): string => `${tap} gradient`;

/** The embedded tokens, and the gradient of the log-odds by them. */
function differentiated(run: TrainedModel, feeds: Arrays, places: readonly InputPlace[]): Promise<Readonly<Record<string, HostArray>>> {
  const { model, device, weights, temperature } = run;
  const several = givesSeveral(model);
  const oddsOf = (scores: Tensor, targets: Tensor) => (several ? separateOdds : logOdds)(mul(scores, 1 / temperature), targets);
  const names = places.map(({ tap }) => tap);
  const symbols = takesAnyLength(model) ? "open" : "bound";
  return run.use(
    `attribution ${names.join()}`,
    () => compile(withGradients(modelLoss(model, { training: false }), names, oddsOf), { device, symbols, taps: names }),
    (compiled) => compiled.run(feeds, { weights: weights.buffer }),
  );
}

/** The gradients of a model's answers' log-odds by some taps. */
const withGradients = (fn: TensorFunction, taps: readonly string[], oddsOf: (scores: Tensor, targets: Tensor) => Tensor): TensorFunction =>
  tensorFunction(fn.inputs, (p, inputs) => {
    const { scores } = fn.build(p, inputs);
    const gradients = grad(
      oddsOf(scores, inputs.targets),
      taps.map((tap) => p.tapped(tap)),
      { unused: "zero" },
    );
    return Object.fromEntries(taps.map((tap, i) => [gradientName(tap), gradients[i]]));
  });

/**
 * log p/(1 − p) = s_y − log Σ_{j≠y} exp s_j, over the targets that count. A probability near 1 hardly moves, and its logarithm no more;
 * the odds do, and for two labels and a linear model they are linear.
 */
export function logOdds(scores: Tensor, targets: Tensor): Tensor {
  const labels = scores.shape[scores.rank - 1];
  const own = equal(reshape(targets, [...targets.shape, 1]), cast(iota(labels), "int32")); // [batch, …, label]
  const answer = sum(where(own, scores, 0), { axis: -1 });
  const others = where(own, lowest[scores.dtype as "float32"], scores);
  // log Σ exp s_j is s_j − log softmax(s)_j for every j: the mean of that over all others.
  const rest = div(sum(where(own, 0, sub(scores, logSoftmax(others))), { axis: -1 }), labels.known - 1);
  return sum(where(greaterOrEqual(targets, 0), sub(answer, rest), 0));
}

/** Of labels that are there or not: log σ(s)/(1 − σ(s)) = s, over those that are there. */
const separateOdds = (scores: Tensor, targets: Tensor): Tensor => sum(where(equal(targets, 1), scores, 0));

/** Σ_d a_d b_d for each position of [1, time, width]. */
function products(a: HostArray, b: HostArray): number[] {
  const [, time, width] = a.shape;
  return Array.from({ length: time }, (_, t) => {
    let sum = 0;
    for (let i = t * width; i < (t + 1) * width; i++) sum += Number(a.data[i]) * Number(b.data[i]);
    return sum;
  });
}

/** As many texts at once; each misses another token. */
const rowsAtOnce = 16;

/** How likely the answer is without each of the tokens in turn. */
async function probabilitiesWithout(
  run: TrainedModel,
  feeds: Arrays,
  tap: string,
  embedded: HostArray,
  count: number,
  { at, answer }: { readonly at: number; readonly answer: number },
): Promise<number[]> {
  const { model, device, weights } = run;
  const [, time, width] = embedded.shape;
  const symbols = takesAnyLength(model) ? "open" : "bound";
  const found: number[] = [];
  for (let first = 0; first < count; first += rowsAtOnce) {
    const rows = Math.min(rowsAtOnce, count - first);
    const without = Float32Array.from({ length: rows * time * width }, (_, i) => {
      const [row, token] = [Math.floor(i / (time * width)), Math.floor(i / width) % time];
      return token === first + row ? 0 : Number(embedded.data[i % (time * width)]);
    });
    const many = Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, repeated(value, rows)]));
    const patched = { ...many, [tap]: array("float32", without, [rows, time, width]) };
    const { scores } = await run.use(
      `without ${tap}`,
      () => compile(modelLoss(model, { training: false }), { device, symbols, outputs: ["scores"], patches: [tap] }),
      (compiled) => compiled.run(patched, { weights: weights.buffer }),
    );
    found.push(...probabilityIn(run, scores, rows, at, answer));
  }
  return found;
}
