import type { FloatType } from "../base/arrays.ts";
import type { Attributes, ExampleInput } from "../graph/op.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { add, mul, square, sub } from "./arithmetic.ts";
import { cast, not, where } from "./compare.ts";
import { booleans, real } from "./example.ts";
import { zerosLike } from "./fill.ts";
import { sigmoid, tanh } from "./functions.ts";
import { concat, reshape, slice, split } from "./movement.ts";
import { linear, matmul, rowsProduct, sumRows } from "./products.ts";
import { defineScan } from "./scan.ts";

/*
 * Recurrent cells over a whole sequence, time first: inputs are [time, batch, gates · width] and already multiplied by their weights; only the state's
 * product is left to the steps. On the way back only the gradient of the state goes from step to step, through factors that were computed for all steps at
 * once; the gradients of weights and inputs are products over all steps after that.
 */

export const cells = ["rnn", "gru", "lstm"] as const;
export type Cell = (typeof cells)[number];

/** How many gates a cell computes, stacked in one matrix in PyTorch's order. */
export const gates: Record<Cell, number> = { rnn: 1, gru: 3, lstm: 4 };
/** What a cell hands on: h, and an LSTM also c. */
export const states: Record<Cell, number> = { rnn: 1, gru: 1, lstm: 2 };

interface Way extends Attributes {
  /** From the last position to the first. */
  readonly backward: boolean;
  /** Whether the second of what is scanned says which positions are real, bool [time, batch, 1]: elsewhere a state stays what it is. */
  readonly masked: boolean;
}

const along = { scanned: ({ masked }: Way) => (masked ? 2 : 1), backward: ({ backward }: Way) => backward };

/** The state that each step was given: that of the step before it. */
function before(start: Tensor, all: Tensor, { backward }: Way): Tensor {
  const [time, ...shape] = all.shape;
  const first = reshape(start, [1, ...shape]);
  return backward ? concat([slice(all, 0, 1, time), first], 0) : concat([first, slice(all, 0, 0, time.minus(1))], 0);
}

const kept = (real: Tensor | undefined, next: Tensor, state: Tensor): Tensor => (real ? where(real, next, state) : next);

/** 1 where a position is not real, and 0 elsewhere. */
const unreal = (real: Tensor, like: Tensor): Tensor => cast(not(real), like.dtype);

/** Inputs of an op by their names. */
function named(inputs: readonly Tensor[], carried: number, { masked }: Way) {
  const [x, ...rest] = inputs.slice(carried);
  const real = masked ? rest.shift() : undefined;
  const [weight, bias] = rest;
  return { start: inputs.slice(0, carried), x, real, weight, bias };
}

/** The gradients of a cell's inputs, in their order; those of the gates as they come from the state may differ from those of the inputs. */
function gradients(
  { masked }: Way,
  of: { readonly start: readonly Tensor[]; readonly dx: Tensor; readonly fromState: Tensor; readonly states: Tensor },
): (Tensor | undefined)[] {
  return [...of.start, of.dx, ...(masked ? [undefined] : []), rowsProduct(of.fromState, of.states), sumRows(of.fromState)];
}

function cellInputs(f: FloatType, cell: Cell, masked: boolean): ExampleInput[] {
  const rows = 2 * gates[cell];
  const start = Array.from({ length: states[cell] }, () => real(f, "b", 2));
  return [...start, real(f, "t", "b", rows), ...(masked ? [booleans("t", "b", 1)] : []), real(f, rows, 2), real(f, rows)];
}

const cellExamples = (cell: Cell) => (f: FloatType) =>
  [false, true].flatMap((backward) =>
    [false, true].map((masked) => ({ inputs: cellInputs(f, cell, masked), attributes: { backward, masked }, nonEmpty: ["t", "b"] })),
  );

/**
 * The way back through states: d = carried + given, gates get d · factors, and the state before gets their product with the weights and what of d passes by.
 * Scanned: the gradients that come from outside, a factor for each gate, and what passes by, if anything.
 */
const backOp = defineScan<{ backward: boolean; gates: number; passes: boolean }>("recurrenceBack", {
  carried: 1,
  scanned: ({ gates: count, passes }) => 1 + count + Number(passes),
  backward: ({ backward }) => backward,
  step([carried], [given, ...scanned], [weight], { gates: count, passes }) {
    const d = add(carried, given); // [batch, width]
    const gateGradients = concat(
      scanned.slice(0, count).map((factor) => mul(d, factor)),
      1,
    ); // [batch, gates · width]
    const product = matmul(gateGradients, weight);
    return { carry: [passes ? add(product, mul(d, scanned[count])) : product], outputs: [d, gateGradients] };
  },
  examples: (f) => [
    {
      inputs: [real(f, "b", 2), ...Array.from({ length: 5 }, () => real(f, "t", "b", 2)), real(f, 6, 2)],
      attributes: { backward: true, gates: 3, passes: true },
      nonEmpty: ["t", "b"],
    },
    {
      inputs: [real(f, "b", 2), ...Array.from({ length: 2 }, () => real(f, "t", "b", 2)), real(f, 2, 2)],
      attributes: { backward: false, gates: 1, passes: false },
      nonEmpty: ["t", "b"],
    },
  ],
});

/** What gradients come to the last state and to all of them; none are zeros. */
const arriving = (grads: readonly (Tensor | undefined)[], outputs: readonly Tensor[], count: number): Tensor[] =>
  outputs.slice(0, count).map((y, i) => grads[i] ?? zerosLike(y));

/** h = tanh(x + U h₋ + b). */
const rnnOp = defineScan<Way>("rnnRecurrence", {
  carried: 1,
  ...along,
  step([h], [x, real], [weight, bias]) {
    const next = kept(real, tanh(add(x, linear(h, weight, bias, { transposed: true }))), h);
    return { carry: [next], outputs: [next] };
  },
  vjp({ grads, inputs, outputs, attributes }) {
    const { start, real, weight } = named(inputs, 1, attributes);
    const [last, given] = arriving(grads, outputs, 2);
    const slope = sub(1, square(outputs[1]));
    const scanned = real ? [given, where(real, slope, 0), unreal(real, slope)] : [given, slope];
    const [first, , dx] = backOp.apply([last, ...scanned, weight], {
      backward: !attributes.backward,
      gates: 1,
      passes: real !== undefined,
    });
    return gradients(attributes, { start: [first], dx, fromState: dx, states: before(start[0], outputs[1], attributes) });
  },
  examples: cellExamples("rnn"),
});

/** r = σ(xᵣ + hᵣ), z = σ(x_z + h_z), n = tanh(xₙ + r hₙ), h = (1 − z) n + z h₋, where hᵣ, h_z, hₙ are the parts of U h₋ + b. */
const gruOp = defineScan<Way>("gruRecurrence", {
  carried: 1,
  ...along,
  saved: 4,
  step([h], [x, real], [weight, bias]) {
    const width = h.shape[1];
    const fromState = linear(h, weight, bias, { transposed: true });
    const [gatesX, newX] = split(x, 1, [width.times(2), width]);
    const [gatesH, newH] = split(fromState, 1, [width.times(2), width]);
    const [reset, update] = split(sigmoid(add(gatesX, gatesH)), 1, 2); // both in one pass
    const proposal = tanh(add(newX, mul(reset, newH)));
    const next = kept(real, add(proposal, mul(update, sub(h, proposal))), h);
    return { carry: [next], outputs: [next, reset, update, proposal, newH] };
  },
  vjp({ grads, inputs, outputs, attributes }) {
    const { start, real, weight } = named(inputs, 1, attributes);
    const [last, given] = arriving(grads, outputs, 2);
    const [, all, reset, updateAll, proposal, newH] = outputs;
    const update = real ? where(real, updateAll, 1) : updateAll; // nothing is new where nothing is real
    const states = before(start[0], all, attributes);
    const fresh = sub(1, update);
    const toProposal = mul(fresh, sub(1, square(proposal)));
    const toUpdate = mul(mul(update, fresh), sub(states, proposal));
    const toNewH = mul(toProposal, reset);
    const toReset = mul(mul(toNewH, newH), sub(1, reset));
    const [first, d, fromState] = backOp.apply([last, given, toReset, toUpdate, toNewH, update, weight], {
      backward: !attributes.backward,
      gates: 3,
      passes: true,
    });
    const width = d.shape[2];
    const [dGates] = split(fromState, 2, [width.times(2), width]);
    return gradients(attributes, { start: [first], dx: concat([dGates, mul(d, toProposal)], 2), fromState, states });
  },
  examples: cellExamples("gru"),
});

/** The way back through an LSTM: as `recurrenceBack`, with two states. Scanned: gradients of h and of c, factors, what passes by. */
const lstmBackOp = defineScan<{ backward: boolean; masked: boolean }>("lstmRecurrenceBack", {
  carried: 2,
  scanned: ({ masked }) => (masked ? 9 : 8),
  backward: ({ backward }) => backward,
  step([carriedH, carriedC], [givenH, givenC, intoC, toInput, toForget, toValue, toOutput, keeps, passes], [weight]) {
    const dh = add(carriedH, givenH);
    const dc = add(add(carriedC, givenC), mul(dh, intoC));
    const gateGradients = concat([mul(dc, toInput), mul(dc, toForget), mul(dc, toValue), mul(dh, toOutput)], 1);
    const product = matmul(gateGradients, weight);
    return { carry: [passes ? add(product, mul(dh, passes)) : product, mul(dc, keeps)], outputs: [gateGradients] };
  },
  examples: (f) =>
    [true, false].map((masked) => ({
      inputs: [real(f, "b", 2), real(f, "b", 2), ...Array.from({ length: masked ? 9 : 8 }, () => real(f, "t", "b", 2)), real(f, 8, 2)],
      attributes: { backward: masked, masked },
      nonEmpty: ["t", "b"],
    })),
});

/** i, f, o = σ(…), g = tanh(…) of the parts of x + U h₋ + b; c = f c₋ + i g; h = o tanh(c). */
const lstmOp = defineScan<Way>("lstmRecurrence", {
  carried: 2,
  ...along,
  saved: 5,
  step([h, c], [x, real], [weight, bias]) {
    const width = h.shape[1];
    const all = add(x, linear(h, weight, bias, { transposed: true }));
    const [inputForget, valueIn, outputIn] = split(all, 1, [width.times(2), width, width]);
    const [input, forget] = split(sigmoid(inputForget), 1, 2);
    const [value, output] = [tanh(valueIn), sigmoid(outputIn)];
    const nextC = add(mul(forget, c), mul(input, value));
    const bent = tanh(nextC);
    const carry = [kept(real, mul(output, bent), h), kept(real, nextC, c)];
    return { carry, outputs: [...carry, input, forget, value, output, bent] };
  },
  vjp({ grads, inputs, outputs, attributes }) {
    const { start, real, weight } = named(inputs, 2, attributes);
    const [lastH, lastC, givenH, givenC] = arriving(grads, outputs, 4);
    const [, , allH, allC, inputAll, forgetAll, value, outputAll, bent] = outputs;
    const nothing = (x: Tensor) => (real ? where(real, x, 0) : x);
    const [input, output] = [nothing(inputAll), nothing(outputAll)];
    const forget = real ? where(real, forgetAll, 1) : forgetAll;
    const scanned = [
      givenH,
      givenC,
      mul(output, sub(1, square(bent))),
      mul(mul(input, sub(1, input)), value),
      mul(mul(forget, sub(1, forget)), before(start[1], allC, attributes)),
      mul(input, sub(1, square(value))),
      mul(mul(output, sub(1, output)), bent),
      forget,
      ...(real ? [unreal(real, forget)] : []),
    ];
    const [firstH, firstC, dx] = lstmBackOp.apply([lastH, lastC, ...scanned, weight], {
      backward: !attributes.backward,
      masked: attributes.masked,
    });
    return gradients(attributes, { start: [firstH, firstC], dx, fromState: dx, states: before(start[0], allH, attributes) });
  },
  examples: cellExamples("lstm"),
});

const ops = { rnn: rnnOp, gru: gruOp, lstm: lstmOp };

/** The matrix by which a recurrence multiplies its states; undefined for other nodes. */
export const weightOfRecurrence = (node: Node): Tensor | undefined =>
  Object.values(ops).some((op) => op.is(node)) ? node.inputs[node.inputs.length - 2] : undefined;

export interface RecurrenceInputs {
  /** h, and of an LSTM c, as the first step is given them: [batch, width]. */
  readonly start: readonly Tensor[];
  /** Inputs times their weights, [time, batch, gates · width]. */
  readonly x: Tensor;
  /** [gates · width, width] and [gates · width]. */
  readonly weight: Tensor;
  readonly bias: Tensor;
  /** Which positions are real, bool [time, batch, 1]. */
  readonly real?: Tensor;
}

/** A recurrent cell over a sequence: the state h after every step, [time, batch, width], and the last state. */
export function recurrence(
  cell: Cell,
  { start, x, weight, bias, real }: RecurrenceInputs,
  { backward = false }: { backward?: boolean } = {},
): { outputs: Tensor; last: Tensor[] } {
  const count = states[cell];
  const inputs = [...start, x, ...(real ? [real] : []), weight, bias];
  const made = ops[cell].apply(inputs, { backward, masked: real !== undefined });
  return { outputs: made[count], last: made.slice(0, count) };
}
