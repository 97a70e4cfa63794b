import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { withSizes } from "../graph/dim.ts";
import type { TensorFunction } from "../graph/graph.ts";
import { input } from "../graph/leaves.ts";
import { Scope, Trace } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";

// The named places of a model: what can be looked at and replaced.

export interface TapInfo {
  readonly name: string;
  /** The names of its axes, the batch aside. */
  readonly axes: readonly string[];
}

/** The axes of a tap, by the last part of its name. */
const axesOf: Readonly<Record<string, readonly string[]>> = {
  embedded: ["time", "width"],
  q: ["head", "query", "size"],
  k: ["head", "key", "size"],
  v: ["head", "key", "size"],
  scores: ["head", "query", "key"],
  pattern: ["head", "query", "key"],
  mixed: ["head", "query", "size"],
  hidden: ["time", "hidden"],
  positioned: ["time", "width"],
  normed: ["time", "width"],
  out: ["time", "width"],
  added: ["time", "width"],
  context: ["time", "width"],
  joined: ["time", "width"],
  pooled: ["width"],
  output: ["time", "width"],
  states: ["time", "width"],
};

/** Every tap of a model, in the order of the data's way, with its axes. */
export function taps(model: ModelConfig): TapInfo[] {
  const fn = modelLoss(model, { training: false });
  const plain = traced(fn, []);
  const all = traced(fn, [...plain.offered]); // a layer makes some of its taps only if somebody asks
  return [...all.taps].map(([name, tensor]) => ({ name, axes: axes(name, tensor) }));
}

/** Where a model of any making has attention: the places of its patterns, in the order of the data's way, and the heads of each. */
export function patternsOf(model: ModelConfig): { readonly place: string; readonly heads: number }[] {
  const fn = modelLoss(model, { training: false });
  const { taps: found } = traced(fn, [...traced(fn, []).offered]);
  return [...found].flatMap(([name, { shape }]) =>
    name.endsWith("/pattern") && shape.length === 4 ? [{ place: name.slice(0, -"/pattern".length), heads: shape[1].known }] : [],
  );
}

function axes(name: string, { shape }: Tensor): readonly string[] {
  const known = axesOf[name.slice(name.lastIndexOf("/") + 1)];
  return known?.length === shape.length - 1 ? known : shape.slice(1).map((dim, i) => dim.name ?? `axis ${i + 1}`);
}

/** Builds a model for its taps alone; no tap's name depends on the sizes. */
function traced(fn: TensorFunction, wanted: readonly string[]): Trace {
  const trace = new Trace({ taps: wanted });
  const symbols = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap((dim) => dim.symbols));
  const sizes = { ...Object.fromEntries(symbols.map((symbol) => [symbol, 2])), batch: 1 };
  const inputs = Object.entries(fn.inputs).map(([name, { dtype, shape }]) => [
    name,
    input(name, { dtype, shape: shape.map((dim) => dim.bind(sizes)) }),
  ]);
  withSizes(sizes, () => fn.build(new Scope(trace), Object.fromEntries(inputs)));
  return trace;
}

/** The taps that the given names mean. `*` stands for any characters: `encoder*pattern` is every pattern of the encoder. */
export function chosenTaps(model: ModelConfig, names: readonly string[]): TapInfo[] {
  const all = taps(model);
  for (const name of names) {
    if (all.some((tap) => matches(name, tap.name))) continue;
    const known = all.map((tap) => tap.name);
    const some = `${known.slice(0, 8).join(", ")}${known.length > 8 ? ", …" : ""}`;
    throw new ConfigError(`no tap is called "${name}"${suggest(name, known) || `; there are ${some}`}`);
  }
  return all.filter((tap) => names.some((name) => matches(name, tap.name)));
}

/** Whether a name with `*` means another. Looks at each character a few times at most, whatever the name. */
export function matches(pattern: string, name: string): boolean {
  const [first, ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
