import { decimal, decimalsFor } from "../src/pictures/number.ts";
import { part } from "./dom.ts";
import { described } from "./overview.ts";
import { columnOf, rowOf, strongest, weightAt } from "./pattern.ts";
import type { Viewer } from "./state.ts";

// What is seen, in a sentence: for those who listen, and for exact numbers.

/** Between signs that keep a name's direction of writing to itself. */
export const named = (names: readonly string[], index: number): string => `\u2068${names[index]}\u2069 (${index})`;

export function words(viewer: Viewer): void {
  const status = part("status", HTMLParagraphElement);
  const title = part("head-title", HTMLHeadingElement);
  viewer.whenHeadChanges(() => {
    const { layer, heads } = viewer.look.layers[viewer.layer];
    const { shown } = viewer;
    title.textContent = shown ? described(layer, shown) : `layer ${layer}, the mean of ${heads.length} heads`;
  });
  viewer.whenSpotChanges(() => {
    status.textContent = `${sentence(viewer)}${viewer.pinned ? " — pinned; Escape lets go" : ""}`;
  });
}

/** What a spot of a pattern says. */
export function sentence({
  pattern,
  look: { tokens, targetTokens },
  spot: { query, key },
}: Pick<Viewer, "pattern" | "spot"> & { readonly look: Pick<Viewer["look"], "tokens" | "targetTokens"> }): string {
  const decimals = decimalsFor(pattern.scale.high);
  const list = (names: readonly string[], weights: Float32Array) =>
    strongest(weights, 5)
      .map((index) => `${named(names, index)} ${decimal(weights[index], decimals)}`)
      .join(", ") || "nothing";
  if (query === undefined)
    return key === undefined ? "" : `${named(tokens, key)} is looked at by ${list(targetTokens, columnOf(pattern, key))}`;
  if (key === undefined) return `${named(targetTokens, query)} looks at ${list(tokens, rowOf(pattern, query))}`;
  return `${named(targetTokens, query)} looks at ${named(tokens, key)} with weight ${decimal(weightAt(pattern, query, key), decimals)}`;
}
