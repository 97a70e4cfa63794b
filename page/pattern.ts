import { type PageHead, type PageLook, weightsOf } from "../src/pictures/page-data.ts";
import { firstCounted, type Scale, scaleOf } from "../src/pictures/scale.ts";

// The weights of one head, [query][key], and how they are coloured.

export interface Pattern {
  readonly queries: number;
  readonly keys: number;
  readonly weights: Float32Array;
  readonly scale: Scale;
}

/** Unpacked each time, in milliseconds: all heads of a long text at once would be hundreds of megabytes. */
export const patternOf = ({ targetTokens, tokens }: PageLook, head: PageHead): Pattern =>
  scaled(targetTokens.length, tokens.length, weightsOf(head, targetTokens.length, tokens.length));

/** The mean over the heads of a layer. */
export function meanOf(look: PageLook, heads: readonly PageHead[]): Pattern {
  const sum = new Float32Array(look.targetTokens.length * look.tokens.length);
  for (const head of heads) for (const [i, weight] of patternOf(look, head).weights.entries()) sum[i] += weight / heads.length;
  return scaled(look.targetTokens.length, look.tokens.length, sum);
}

/** As pictures are scaled: by the square root, up to the highest weight that counts. */
export function scaled(queries: number, keys: number, weights: Float32Array): Pattern {
  const first = firstCounted(queries);
  let [low, high, later, causal] = [0, 0, 0, queries === keys && queries > 1];
  for (let i = 0; i < queries; i++)
    for (let j = 0; j < keys; j++) {
      const weight = weights[i * keys + j];
      if (weight < low) low = weight;
      if (weight > high) high = weight;
      if (j > 0 && i >= first && weight > later) later = weight;
      if (j > i && weight !== 0) causal = false;
    }
  const reach = Math.max(-low, high) || 1;
  const end = causal ? Math.max(later, high / 4) || 1 : high || 1;
  const scale = low < 0 ? scaleOf("diverging", -reach, reach) : scaleOf("sequential", 0, end, "root", end < high);
  return { queries, keys, weights, scale };
}

export const weightAt = ({ weights, keys }: Pattern, query: number, key: number): number => weights[query * keys + key];

export const rowOf = ({ weights, keys }: Pattern, query: number): Float32Array => weights.subarray(query * keys, (query + 1) * keys);

export const columnOf = ({ weights, keys, queries }: Pattern, key: number): Float32Array =>
  Float32Array.from({ length: queries }, (_, query) => weights[query * keys + key]);

/** How strong a weight is drawn: 0 not at all, 1 as strong as it gets. */
export const strengthOf = ({ scale }: Pattern, weight: number): number =>
  scale.low < 0 ? Math.min(1, Math.sqrt(Math.abs(weight) / scale.high)) : scale.at(weight);

/** The places of the largest weights, the largest first. */
export function strongest(weights: Float32Array, count: number): number[] {
  const found: number[] = [];
  weights.forEach((weight, place) => {
    const size = Math.abs(weight);
    if (size === 0) return;
    let at = found.length;
    while (at > 0 && Math.abs(weights[found[at - 1]]) < size) at--;
    if (at < count) {
      found.splice(at, 0, place);
      if (found.length > count) found.pop();
    }
  });
  return found;
}

/** Colours of a map come in so many steps: more cannot be told apart, and looking one up is quicker than mixing it. */
const colourSteps = 1024;

/** A map as pixels, pooled to at most so many a side; a weight of zero stays blank. */
export function pixelsOf({ queries, keys, weights, scale }: Pattern, most: number): ImageData {
  const side = Math.ceil(Math.max(queries, keys) / most);
  const [height, width] = [Math.ceil(queries / side), Math.ceil(keys / side)];
  const strong = side === 1 ? weights : pooledWeights({ queries, keys, weights }, side, width, height);
  const colours = new Uint8ClampedArray(3 * (colourSteps + 1));
  for (let step = 0; step <= colourSteps; step++) colours.set(scale.colour(scale.value(step / colourSteps)), 3 * step);
  const image = new ImageData(width, height);
  const { data } = image;
  for (let at = 0; at < strong.length; at++) {
    if (strong[at] === 0) continue;
    const step = 3 * Math.round(colourSteps * scale.at(strong[at]));
    data[4 * at] = colours[step];
    data[4 * at + 1] = colours[step + 1];
    data[4 * at + 2] = colours[step + 2];
    data[4 * at + 3] = 255;
  }
  return image;
}

/** Of each square, the weight farthest from zero. */
function pooledWeights({ queries, keys, weights }: Omit<Pattern, "scale">, side: number, width: number, height: number): Float32Array {
  const strong = new Float32Array(width * height);
  for (let i = 0; i < queries; i++)
    for (let j = 0; j < keys; j++) {
      const weight = weights[i * keys + j];
      const at = Math.floor(i / side) * width + Math.floor(j / side);
      if (Math.abs(weight) > Math.abs(strong[at])) strong[at] = weight;
    }
  return strong;
}
