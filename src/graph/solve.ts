import { Dim } from "./dim.ts";
import type { TensorType } from "./type.ts";

/** How to know a symbol: the size of an input's axis, less the rest of that axis' expression, over the symbol's factor. */
export interface Solution {
  readonly symbol: string;
  readonly input: string;
  readonly axis: number;
  readonly rest: Dim;
  /** What the symbol is multiplied by: 2 in `2*time+1`. */
  readonly factor: number;
}

/**
 * For every symbol that follows from the shapes of the inputs, where to read it off: `time` from an axis `time`, and then
 * `past` from an axis `past+time`. Each solution uses only symbols of those before it.
 */
export function solveSymbols(inputs: Iterable<readonly [string, TensorType]>): Solution[] {
  const axes = [...inputs].flatMap(([input, { shape }]) => shape.map((dim, axis) => ({ input, axis, dim })));
  const solutions: Solution[] = [];
  const solved = new Set<string>();
  for (let found = true; found; ) {
    found = false;
    for (const { input, axis, dim } of axes) {
      const [symbol, ...more] = dim.symbols.filter((name) => !solved.has(name));
      if (symbol === undefined || more.length > 0) continue;
      const factor = dim.terms.get(symbol) ?? 0;
      const rest = dim.minus(Dim.symbol(symbol).times(factor));
      if (factor === 0 || rest.symbols.includes(symbol)) continue; // time*head, time*time: not a plain sum
      solutions.push({ symbol, input, axis, rest, factor });
      solved.add(symbol);
      found = true;
    }
  }
  return solutions;
}
