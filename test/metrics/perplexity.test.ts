import { expect, it } from "vitest";
import { bits, bitsPerByte, perplexity } from "../../src/metrics/perplexity.ts";

it("gives the perplexity of the lecture's example", () => {
  const probabilities = [1 / 4, 1 / 3, 1 / 4, 1 / 3];
  const meanNll = probabilities.reduce((sum, p) => sum - Math.log(p), 0) / probabilities.length;
  expect(meanNll).toBeCloseTo(1.242, 3);
  expect(perplexity(meanNll)).toBeCloseTo(3.464, 3);
  expect(perplexity(meanNll)).toBeCloseTo(Math.sqrt(12), 12);
});

it("a uniform choice among 8 has perplexity 8 and 3 bits, spread over the bytes", () => {
  expect(perplexity(Math.log(8))).toBeCloseTo(8, 12);
  expect(bits(Math.log(8))).toBeCloseTo(3, 12);
  expect(bitsPerByte(10 * Math.log(8), 15)).toBeCloseTo(2, 12); // 10 tokens of 3 bits over 15 bytes
});
