/** Below this a probability is none, and its logarithm still a number. */
const least = 1e-12;

/**
 * The Kullback–Leibler divergence of answers from those before, in nats, from their log-probabilities. Of answers that exclude each other it is one sum;
 * labels that stand each for itself are each there or not, and what speaks for their absence counts too.
 */
export function divergenceOf(before: ArrayLike<number>, after: ArrayLike<number>, labels: "exclusive" | "apart" = "exclusive"): number {
  let sum = 0;
  for (let i = 0; i < before.length; i++) {
    const [p, q] = [Math.exp(before[i]), Math.exp(after[i])];
    sum += p * (before[i] - after[i]);
    if (labels === "apart") sum += (1 - p) * (Math.log(Math.max(1 - p, least)) - Math.log(Math.max(1 - q, least)));
  }
  return Math.max(0, sum); // rounding may leave a little less
}
