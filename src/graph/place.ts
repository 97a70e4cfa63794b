// Where in the model we are while a graph is built, and what part of it that is. Building is synchronous, so one variable, restored on
// the way out, is enough.

/** The parts that a model's cost is told by, in the order of the data's way. The optimizer comes after the graph. */
export const partNames = [
  "embedding",
  "positions",
  "projections",
  "scores",
  "softmax",
  "weighted sum",
  "output projection",
  "heads",
  "feed-forward",
  "recurrence",
  "norms",
  "residuals",
  "dropout",
  "logits",
  "loss",
  "optimizer",
  "other",
] as const;
export type Part = (typeof partNames)[number];

/** What nodes remember of where they were written. A gradient is written at the place of the node that it is of. */
export interface Place {
  /** Such as `block.2/attention`. */
  readonly scope: string;
  readonly part: Part;
}

let here: Place = { scope: "", part: "other" };

export const currentPlace = (): Place => here;

/** Runs `build` at a place: nodes made there carry it. */
export function atPlace<T>(place: Place, build: () => T): T {
  const before = here;
  here = place;
  try {
    return build();
  } finally {
    here = before;
  }
}

/** Runs `build` as what it is a part of. Whatever it calls may say so more exactly: the innermost part counts. */
export const inPart = <T>(part: Part, build: () => T): T => atPlace({ scope: here.scope, part }, build);

export const joinPath = (a: string, b: string): string => (a && b ? `${a}/${b}` : a || b);

/** The second path if it lies inside the first, as the more exact one. */
export const deeper = (a: string, b: string): string => (a === "" || b.startsWith(`${a}/`) ? b || a : a);
