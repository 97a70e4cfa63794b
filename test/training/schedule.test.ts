import { describe, expect, it } from "vitest";
import { learningRate, type ScheduleOptions, schedules } from "../../src/training/schedule.ts";

const options: ScheduleOptions = { schedule: "cosine", lr: 1, minLr: 0.1, warmup: 10, steps: 110 };
const at = (step: number, change: Partial<ScheduleOptions> = {}) => learningRate(step, { ...options, ...change });

describe("the learning rate", () => {
  it.each(schedules)("of %s rises in a line to the highest", (schedule) => {
    expect(at(1, { schedule })).toBeCloseTo(0.1, 12);
    expect(at(5, { schedule })).toBeCloseTo(0.5, 12);
    expect(at(10, { schedule })).toBeCloseTo(1, 12);
  });

  it("then stays, falls in a line, falls like a cosine, or with the root of the step", () => {
    expect(at(61, { schedule: "constant" })).toBe(1);
    expect(at(61, { schedule: "linear" })).toBeCloseTo(0.55, 12);
    expect(at(61, { schedule: "cosine" })).toBeCloseTo(0.55, 12);
    expect(at(36, { schedule: "cosine" })).toBeCloseTo(0.1 + 0.45 * (1 + Math.SQRT1_2), 12);
    expect(at(40, { schedule: "noam" })).toBeCloseTo(0.5, 12);
  });

  it("comes to the lowest after the last step for linear and cosine, so that the last step still counts", () => {
    expect(at(110, { schedule: "linear", minLr: 0 })).toBeCloseTo(0.01, 12);
    expect(at(111, { schedule: "linear" })).toBeCloseTo(0.1, 12);
    expect(at(111, { schedule: "cosine" })).toBeCloseTo(0.1, 12);
    expect(at(500, { schedule: "cosine" })).toBeCloseTo(0.1, 12);
  });

  it("of wsd stays, and falls in the last part with the root of the way to the lowest", () => {
    const wsd = { schedule: "wsd", steps: 100, warmup: 10, minLr: 0 } as const;
    for (const step of [11, 40, 80, 81]) expect(at(step, wsd)).toBe(1);
    expect(at(86, wsd)).toBeCloseTo(0.5, 12); // a quarter of the way
    expect(at(100, wsd)).toBeCloseTo(1 - Math.sqrt(19 / 20), 12);
    expect(at(101, { ...wsd, minLr: 0.1 })).toBeCloseTo(0.1, 12);
    expect(at(51, { ...wsd, decay: 0.5 })).toBe(1);
    expect(at(52, { ...wsd, decay: 0.5 })).toBeLessThan(1);
    expect(at(11, { ...wsd, decay: 0.99 })).toBe(1); // never during the warm-up
    const rates = Array.from({ length: 90 }, (_, i) => at(i + 11, wsd));
    expect(rates).toEqual([...rates].sort((a, b) => b - a));
  });

  it("is the paper's own for noam with its own highest rate", () => {
    const [width, warmup] = [512, 4000];
    const paper = (step: number) => width ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);
    for (const step of [1, 100, 4000, 4001, 50_000]) {
      expect(at(step, { schedule: "noam", lr: (width * warmup) ** -0.5, warmup })).toBeCloseTo(paper(step), 12);
    }
  });

  it("needs no warm-up", () => {
    expect(at(1, { warmup: 0, schedule: "linear", steps: 1 })).toBe(1);
    expect(at(1, { warmup: 0, schedule: "noam" })).toBe(1);
  });
});
