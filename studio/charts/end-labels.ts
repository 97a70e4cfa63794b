/** Heights for labels, as near to those wanted as they can be without two of them being nearer than the pitch; in the order they were given. */
export function endPlaces(
  wanted: readonly number[],
  { from, to, pitch }: { readonly from: number; readonly to: number; readonly pitch: number },
): number[] {
  const order = wanted.map((place, index) => ({ place, index })).sort((a, b) => a.place - b.place || a.index - b.index);
  const down: number[] = [];
  for (const { place } of order) down.push(Math.max(place, from, (down.at(-1) ?? Number.NEGATIVE_INFINITY) + pitch));
  let above = Number.POSITIVE_INFINITY;
  const places: number[] = new Array(wanted.length);
  for (let i = order.length - 1; i >= 0; i--) {
    above = Math.min(down[i], to, above - pitch);
    places[order[i].index] = above;
  }
  return places;
}
