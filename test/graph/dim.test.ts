import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GraphError } from "../../src/base/errors.ts";
import { Dim } from "../../src/graph/dim.ts";
import { buildGraph, tensorFunction } from "../../src/graph/graph.ts";
import { float32 } from "../../src/graph/type.ts";
import { feedforward } from "../../src/layers/feedforward.ts";

const dim = fc
  .oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom("batch", "time", "past+time", "2*width", "batch*time"))
  .map((x) => Dim.of(x));
const sizes = { batch: 3, time: 5, past: 7, width: 2 };
const value = (d: Dim) => d.bind(sizes).known;

describe("a dimension", () => {
  it("adds, multiplies and subtracts like the number it will be", () => {
    fc.assert(
      fc.property(dim, dim, dim, (a, b, c) => {
        expect(value(a.plus(b))).toBe(value(a) + value(b));
        expect(value(a.times(b))).toBe(value(a) * value(b));
        expect(value(a.plus(b).minus(b))).toBe(value(a));
        expect(
          a
            .plus(b)
            .times(c)
            .equals(a.times(c).plus(b.times(c))),
        ).toBe(true);
        expect(a.times(b).equals(b.times(a))).toBe(true);
      }),
    );
  });

  it("prints as people write it, and keeps its name when it is bound", () => {
    expect(`${Dim.of("past+time")}`).toBe("past+time");
    expect(`${Dim.of("batch").bind({ batch: 12 })}`).toBe("batch=12");
    expect(`${Dim.of("past").plus("time").bind({ past: 3, time: 4 })}`).toBe("past+time=7");
    expect(`${Dim.named("batch", 2).times(Dim.named("time", 3))}`).toBe("batch*time=6");
    expect(`${Dim.of("batch").times(Dim.named("time", 3))}`).toBe("3*batch");
  });

  it("keeps the name of a sum or product when a part is 0 or 1", () => {
    const [past, time] = [Dim.named("past", 0), Dim.named("time", 1)];
    expect([`${past.plus(time)}`, `${time.times(Dim.named("batch", 3))}`]).toEqual(["past+time=1", "time*batch=3"]);
  });

  it("divides only without remainder", () => {
    expect(Dim.of("6*width").dividedBy(3)?.expression).toBe("2*width");
    expect(Dim.of(7).dividedBy(2)).toBeUndefined();
  });

  it("is known when nothing is left open; where it must be, an error says which is open, the place and the cure", () => {
    expect(Dim.of("past+time").bind({ past: 3, time: 4 }).known).toBe(7);
    expect(() => Dim.of("past+time").bind({ time: 4 }).known).toThrow(
      new GraphError('what is built here needs a number where "past+time" was left open; bind it when compiling'),
    );
    const fn = tensorFunction({ x: float32([2, "width"]) }, (p, { x }) => ({
      y: feedforward(p.at("block", 1).at("feedforward"), x, { hidden: 4, activation: "relu" }),
    }));
    expect(() => buildGraph(fn)).toThrow(
      new GraphError('at block.1/feedforward: what is built here needs a number where "width" was left open; bind it when compiling'),
    );
  });

  it("refuses what is not a dimension", () => {
    expect(() => Dim.of("batch-1")).toThrow(
      '"batch-1" is not a dimension; write a number, a name, or sums and products such as "past+time"',
    );
  });
});
