import type { Chance } from "../base/chance.ts";
import { atOnce } from "../base/turns.ts";
import type { Initialiser } from "../graph/leaves.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";

/** Fills the parameters as they were declared. Each draws from its own name, so adding one changes no other. */
export const initialise = (layout: ParameterLayout, chance: Chance, into = new ParameterBuffer(layout)): ParameterBuffer =>
  atOnce(initialising(layout, chance, into));

/** How many numbers are drawn before the work may be left. */
const stretch = 65_536;

/** The same as work that can be left. */
export function* initialising(layout: ParameterLayout, chance: Chance, into: ParameterBuffer): Generator<void, ParameterBuffer> {
  for (const { name, initialiser, offset, length } of layout.entries) {
    const source = chance.fork("weights").fork(name);
    for (let at = 0; at < length; at += stretch) {
      const end = Math.min(length, at + stretch);
      for (let i = at; i < end; i++) into.data[offset + i] = draw(initialiser, source, i);
      yield;
    }
  }
  return into;
}

function draw(initialiser: Initialiser, source: Chance, place: number): number {
  switch (initialiser.kind) {
    case "zeros":
      return 0;
    case "ones":
      return 1;
    case "filled":
      return initialiser.value;
    case "normal":
      return source.normal(place) * initialiser.std;
    case "uniform":
      return (2 * source.uniform(place) - 1) * initialiser.bound;
  }
}
