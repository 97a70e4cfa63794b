import type { Chance } from "../base/chance.ts";
import type { Initialiser } from "../graph/leaves.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";

/** Fills the parameters as they were declared. Each draws from its own name, so adding one changes no other. */
export function initialise(layout: ParameterLayout, chance: Chance, into = new ParameterBuffer(layout)): ParameterBuffer {
  for (const { name, initialiser, offset, length } of layout.entries) {
    const source = chance.fork("weights").fork(name);
    for (let i = 0; i < length; i++) into.data[offset + i] = draw(initialiser, source, i);
  }
  return into;
}

function draw(initialiser: Initialiser, source: Chance, place: number): number {
  switch (initialiser.kind) {
    case "zeros":
      return 0;
    case "ones":
      return 1;
    case "normal":
      return source.normal(place) * initialiser.std;
    case "uniform":
      return (2 * source.uniform(place) - 1) * initialiser.bound;
  }
}
