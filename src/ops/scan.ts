import { GraphError } from "../base/errors.ts";
import { cleanUp } from "../graph/cleanup.ts";
import { nodeShares } from "../graph/cost.ts";
import { type Dim, sum } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { input, isInput } from "../graph/leaves.ts";
import { type Attributes, type Cost, defineOp, type Op, type OpDefinition } from "../graph/op.ts";
import { atPlace, type Place } from "../graph/place.ts";
import { type Node, type Tensor, topological } from "../graph/tensor.ts";
import { sameShape, showType, type TensorType } from "../graph/type.ts";

// Ops that are loops over their first axis: one step is written with other ops.

/** What one step makes of what it is given. */
export interface Step {
  /** What the next step is given; as many as came in, of the same types. */
  readonly carry: readonly Tensor[];
  /** What is kept of every step. */
  readonly outputs: readonly Tensor[];
}

/**
 * The inputs of such an op are, in this order: what is carried, as the first step is given it; what is scanned, whose first axis is that of the loop; what
 * is the same in all steps. It gives what is carried at the end, then the outputs of all steps, with the loop's axis in front.
 */
export interface ScanDefinition<A extends Attributes> extends Pick<OpDefinition<A>, "vjp" | "saved" | "examples"> {
  readonly carried: number;
  scanned(attributes: A): number;
  backward(attributes: A): boolean;
  step(carry: readonly Tensor[], scanned: readonly Tensor[], fixed: readonly Tensor[], attributes: A): Step;
}

interface Body {
  readonly time: Dim;
  readonly carry: readonly Tensor[];
  readonly scanned: readonly Tensor[];
  readonly fixed: readonly Tensor[];
  readonly step: Step;
}

export function defineScan<A extends Attributes>(name: string, definition: ScanDefinition<A>): Op<A> {
  const { carried, scanned, backward, step, ...rest } = definition;

  const bodyOf = (inputs: readonly TensorType[], attributes: A): Body => {
    const end = carried + scanned(attributes);
    const time = inputs[carried]?.shape[0];
    if (time === undefined || inputs.length < end) throw new GraphError("has nothing to go along");
    const given = inputs.map((type, i) => {
      const moves = i >= carried && i < end;
      if (moves && !type.shape[0]?.equals(time)) throw new GraphError(`goes along ${time} and ${type.shape[0]} positions at once`);
      return input(`${i}`, moves ? { ...type, shape: type.shape.slice(1) } : type);
    });
    const [carry, moving, fixed] = [given.slice(0, carried), given.slice(carried, end), given.slice(end)];
    const made = step(carry, moving, fixed, attributes);
    for (const [i, x] of carry.entries()) {
      const next = made.carry[i];
      if (next.dtype !== x.dtype || !sameShape(next.shape, x.shape))
        throw new GraphError(`is given ${showType(x.type)}, and hands ${showType(next.type)} to the next step`);
    }
    return { time, carry, scanned: moving, fixed, step: made };
  };

  return defineOp<A>(name, {
    ...rest,
    scans: true,
    type(inputs, attributes) {
      const { time, carry, step: made } = bodyOf(inputs, attributes);
      return [...carry.map(({ type }) => type), ...made.outputs.map(({ type }) => ({ ...type, shape: [time, ...type.shape] }))];
    },
    onnx(e, values, { inputs, attributes }) {
      const body = simpler(bodyOf(inputs, attributes));
      const nodes = topological([...body.step.carry, ...body.step.outputs]);
      const fixed = new Map(body.fixed.map((x, i) => [x, values[body.carry.length + body.scanned.length + i]]));
      return e.loop({
        time: body.time,
        backward: backward(attributes),
        carry: body.carry.map(({ type }, i) => ({ start: values[i], type })),
        scanned: body.scanned.map(({ type }, i) => ({ value: values[carried + i], type })),
        outputs: body.step.outputs.map(({ type }) => type),
        step(carry, moving) {
          const known = new Map<Tensor, Value>([
            ...fixed,
            ...body.carry.map((x, i): [Tensor, Value] => [x, carry[i]]),
            ...body.scanned.map((x, i): [Tensor, Value] => [x, moving[i]]),
          ]);
          for (const node of nodes) lower(e, node, known);
          const named = (x: Tensor) => known.get(x) as Value;
          return { carry: body.step.carry.map(named), outputs: body.step.outputs.map(named) };
        },
      });
    },
    cost(inputs, _, attributes) {
      const { time, step: made } = atPlace(nowhere, () => bodyOf(inputs, attributes));
      const shares = topological([...made.carry, ...made.outputs]).flatMap((node) => (isInput(node) ? [] : nodeShares(node)));
      return [...new Set(shares.map(({ part }) => part))].map((part) => {
        const own = shares.filter((share) => share.part === part);
        const times = (of: keyof Cost) => sum(own.map((share) => share[of])).times(time);
        return { flops: times("flops"), products: times("products"), bytes: times("bytes"), ...(part !== nowhere.part && { part }) };
      });
    },
  });
}

/** Where a step is built when it is only counted: what is said of no part in it is of the part that the loop is of. */
const nowhere: Place = { scope: "", part: "other" };

function lower(e: Emitter, node: Node, known: Map<Tensor, Value>): void {
  if (isInput(node)) return;
  const values = node.op.onnx(
    e,
    node.inputs.map((x) => known.get(x) as Value),
    { attributes: node.attributes, inputs: node.inputs.map((x) => x.type), outputs: node.outputs.map((y) => y.type) },
  );
  for (const [i, value] of [values].flat().entries()) known.set(node.outputs[i], value as Value);
}

/** Nothing twice, and nothing for nobody. */
function simpler(body: Body): Body {
  const { carry, outputs } = body.step;
  const all = new Map([...carry, ...outputs].map((x, i) => [`${i}`, x]));
  const clean = [...cleanUp({ inputs: new Map(), parameters: new Map(), noise: new Map(), outputs: all }).outputs.values()];
  return { ...body, step: { carry: clean.slice(0, carry.length), outputs: clean.slice(carry.length) } };
}
