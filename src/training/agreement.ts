import type { Group } from "./group.ts";

// Ranks take the same step from the same gradients. Where the engine computes a part of it, as with Muon, processors of different kinds may round differently.

/** Of so many numbers at most it is seen whether ranks have the same. */
const mostRead = 2 ** 18;

/** All go on with the weights of rank 0, if those of any are others. */
export async function agreeOnWeights(weights: Float32Array, group: Group): Promise<void> {
  const [first, ...others] = await group.gather(Float64Array.of(digest(weights)));
  if (others.some(([one]) => one !== first[0])) await group.broadcast(weights);
}

function digest({ buffer, byteOffset, length }: Float32Array): number {
  const bits = new Int32Array(buffer, byteOffset, length);
  const apart = Math.ceil(length / mostRead);
  let found = 0;
  for (let i = 0; i < length; i += apart) found = (Math.imul(found, 31) + bits[i]) | 0;
  return found;
}
