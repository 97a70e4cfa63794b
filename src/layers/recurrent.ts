import { Dim } from "../graph/dim.ts";
import { type Initialiser, uniform } from "../graph/leaves.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add, mul, sub } from "../ops/arithmetic.ts";
import { where } from "../ops/compare.ts";
import { fill } from "../ops/fill.ts";
import { sigmoid, tanh } from "../ops/functions.ts";
import { concat, reshape, slice, split, transpose } from "../ops/movement.ts";
import { linear } from "../ops/products.ts";
import { type Cell, gates, recurrence, states } from "../ops/recurrence.ts";

export { type Cell, cells } from "../ops/recurrence.ts";

/** Steps written one after the other, for a length that is known; or one loop for all lengths, which is faster, takes less memory and keeps less for the way back. */
export const recurrences = ["unrolled", "scanned"] as const;
export type RecurrenceForm = (typeof recurrences)[number];

/** The state of a cell: h, and for the LSTM also c. [batch, width] each. */
export type State = readonly Tensor[];

/** The weights of one cell: from the input, from the state, and their biases. */
interface CellWeights {
  readonly cell: Cell;
  readonly width: number;
  readonly hiddenWeight: Tensor;
  readonly hiddenBias: Tensor;
}

const zeroState = (cell: Cell, width: number, like: Tensor): State =>
  Array.from({ length: states[cell] }, () => fill(like.dtype, [like.shape[0], Dim.of(width)], 0));

/** One step: the input's part is computed for all times at once, so only the state's product is left here. */
function step({ cell, width, hiddenWeight, hiddenBias }: CellWeights, fromInput: Tensor, state: State): State {
  const [h] = state;
  const fromState = linear(h, hiddenWeight, hiddenBias, { transposed: true }); // [batch, gates · width]
  if (cell === "rnn") return [tanh(add(fromInput, fromState))];
  if (cell === "gru") {
    const [resetX, updateX, newX] = split(fromInput, 1, [width, width, width]);
    const [resetH, updateH, newH] = split(fromState, 1, [width, width, width]);
    const reset = sigmoid(add(resetX, resetH));
    const update = sigmoid(add(updateX, updateH));
    const proposal = tanh(add(newX, mul(reset, newH)));
    return [add(proposal, mul(update, sub(h, proposal)))]; // (1 − z) n + z h
  }
  const [input, forget, value, output] = split(add(fromInput, fromState), 1, 4);
  const c = add(mul(sigmoid(forget), state[1]), mul(sigmoid(input), tanh(value)));
  return [mul(sigmoid(output), tanh(c)), c];
}

export interface RecurrentOptions {
  readonly cell: Cell;
  readonly width: number;
  readonly start?: State;
  /** Read from the end to the beginning. */
  readonly backward?: boolean;
  /** Which positions are real, bool [batch, time]: a state does not change at the others. */
  readonly real?: Tensor;
  /** How it is computed; unrolled if left out. The weights are the same, and so are the numbers, up to rounding. */
  readonly form?: RecurrenceForm;
}

export interface Recurrence {
  /** The state h at every position, [batch, time, width]. */
  readonly outputs: Tensor;
  readonly last: State;
}

/** A recurrent layer: h_t from x_t and h_{t−1}. */
export const recurrent = layer(
  "recurrence",
  (p, x: Tensor, options: RecurrentOptions): Recurrence => (options.form === "scanned" ? scanned(p, x, options) : unrolled(p, x, options)),
);

/** Time comes first inside: a step reads what lies together. */
function scanned(p: Scope, x: Tensor, { cell, width, start, backward, real }: RecurrentOptions): Recurrence {
  const timeFirst = transpose(x, [1, 0, 2]);
  const all = linear(timeFirst, ...inputWeights(p, cell, x.shape[2].known, width), { transposed: true }); // [time, batch, gates · width]
  const { hiddenWeight: weight, hiddenBias: bias } = stateWeights(p, cell, width);
  const [batch, time] = x.shape;
  const { outputs, last } = recurrence(
    cell,
    {
      start: start ?? zeroState(cell, width, x),
      x: all,
      weight,
      bias,
      real: real && reshape(transpose(real, [1, 0]), [time, batch, 1]),
    },
    { backward },
  );
  return { outputs: transpose(outputs, [1, 0, 2]), last };
}

function unrolled(p: Scope, x: Tensor, options: RecurrentOptions): Recurrence {
  const { cell, width, start, backward = false, real } = options;
  const [batch, timeDim, from] = x.shape;
  const time = timeDim.knownFor(`an unrolled ${cell.toUpperCase()}`);
  const all = linear(x, ...inputWeights(p, cell, from.known, width), { transposed: true }); // [batch, time, gates · width]
  const weights = stateWeights(p, cell, width);
  const order = Array.from({ length: time }, (_, i) => (backward ? time - 1 - i : i));
  const outputs: Tensor[] = new Array(time);
  let state = start ?? zeroState(cell, width, x);
  for (const t of order) {
    const at = (y: Tensor) => reshape(slice(y, 1, t, t + 1), [batch, y.shape[2]]);
    const next = step(weights, at(all), state);
    state = real ? next.map((s, i) => where(slice(real, 1, t, t + 1), s, state[i])) : next;
    outputs[t] = reshape(state[0], [batch, 1, width]);
  }
  return { outputs: concat(outputs, 1), last: state };
}

function inputWeights(p: Scope, cell: Cell, from: number, width: number): [Tensor, Tensor] {
  const start = spread(width);
  return [
    p.param("input/weight", [gates[cell] * width, from], start, stackedGates(cell, width)),
    p.param("input/bias", [gates[cell] * width], start),
  ];
}

function stateWeights(p: Scope, cell: Cell, width: number): CellWeights {
  const start = spread(width);
  const hiddenWeight = p.param("state/weight", [gates[cell] * width, width], start, stackedGates(cell, width));
  return { cell, width, hiddenWeight, hiddenBias: p.param("state/bias", [gates[cell] * width], start) };
}

/** Each gate has a matrix of its own. */
const stackedGates = (cell: Cell, width: number): readonly number[] => new Array<number>(gates[cell]).fill(width);

/** Uniform within 1/√width, as recurrent layers usually start. */
const spread = (width: number): Initialiser => uniform(1 / Math.sqrt(width));
