import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { Batch } from "../../src/batches/batch.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { scoringWindows, trainingWindows } from "../../src/batches/windows.ts";

const count = (length: number) => idsInMemory(Int32Array.from({ length }, (_, i) => i));
const numbers = (batch: Batch, name: string) => [...(batch.feeds[name].data as Int32Array)];

describe("windows to train on", () => {
  it("have targets that are the inputs shifted by one", () => {
    const batch = trainingWindows(count(100), { batch: 3, context: 5 }, chance(1)).batch(4);
    expect(batch.feeds.ids.shape).toEqual([3, 5]);
    expect(numbers(batch, "targets")).toEqual(numbers(batch, "ids").map((id) => id + 1));
    expect(batch.tokens).toBe(15);
  });

  it("do not overlap within an epoch, and are cut elsewhere in the next", () => {
    const windows = trainingWindows(count(203), { batch: 3, context: 10 }, chance(1));
    const epoch = (number: number) =>
      Array.from({ length: windows.perEpoch }, (_, i) => numbers(windows.batch(number * windows.perEpoch + i), "ids")).flat();
    expect(windows.perEpoch).toBe(6);
    expect(new Set(epoch(0)).size).toBe(180);
    expect(new Set(epoch(1)).size).toBe(180);
    expect(epoch(0)).not.toEqual(epoch(1));
  });

  it("are the same for the same number, in any order of asking", () => {
    const windows = () => trainingWindows(count(300), { batch: 2, context: 7 }, chance(5));
    const [one, other] = [windows(), windows()];
    const forwards = [0, 1, 30, 31, 77].map((i) => numbers(one.batch(i), "ids"));
    const backwards = [77, 31, 30, 1, 0].map((i) => numbers(other.batch(i), "ids"));
    expect(forwards).toEqual(backwards.reverse());
  });

  it("never reach past the end of the text", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 0, max: 60 }),
        fc.nat(),
        (context, batch, more, seed) => {
          const length = (batch + 1) * context + 1 + more;
          const windows = trainingWindows(count(length), { batch, context }, chance(seed));
          for (let i = 0; i < 3 * windows.perEpoch; i++) expect(Math.max(...numbers(windows.batch(i), "targets"))).toBeLessThan(length);
        },
      ),
    );
  });

  it("refuse a text that is shorter than a batch", () => {
    expect(() => trainingWindows(count(100), { batch: 12, context: 64 }, chance(1))).toThrow(
      "the text has 100 tokens, and one batch of 12 windows of 64 needs 833; give more text, or a smaller batch or context",
    );
  });
});

describe("windows to score", () => {
  it("have every token as a target once, with the token before it as the input", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 80 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 4 }),
        (length, context, batch) => {
          const seen: number[] = [];
          let tokens = 0;
          for (const window of scoringWindows(count(length), { batch, context, before: -7 })) {
            const inputs = numbers(window, "ids");
            for (const [i, target] of numbers(window, "targets").entries()) {
              if (target === -1) continue;
              seen.push(target);
              expect(inputs[i]).toBe(target === 0 ? -7 : target - 1);
            }
            tokens += window.tokens;
          }
          expect(seen).toEqual(Array.from({ length }, (_, i) => i));
          expect(tokens).toBe(length);
        },
      ),
    );
  });

  it("are spread over the text when only some are wanted", () => {
    const [batch] = scoringWindows(count(100), { batch: 8, context: 10, before: 0, windows: 5 });
    const first = numbers(batch, "targets").filter((_, i) => i % 10 === 0);
    expect(first).toEqual([0, 20, 40, 60, 80]);
  });
});
