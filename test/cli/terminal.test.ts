import { describe, expect, it } from "vitest";
import { duration, Progress } from "../../src/cli/terminal.ts";
import { curve } from "../../src/pictures/curve-text.ts";
import type { RunEvent } from "../../src/runs/drive.ts";

describe("the loss curve", () => {
  it("falls from the upper left to the lower right", () => {
    expect(curve([4, 3, 2, 1, 0], { width: 5, height: 2 })).toBe("  4.00 ┤█▄\n  0.00 ┤███▄▁");
  });

  it("is as wide as asked, each place the mean of its stretch", () => {
    expect(curve([0, 2, 4, 6], { width: 2, height: 1 })).toBe("  5.00 ┤▁█");
  });

  it("is nothing for less than two numbers", () => {
    expect(curve([1])).toBe("");
    expect(curve([Number.NaN, 1])).toBe("");
  });
});

describe("a time", () => {
  it("is written as people do", () => {
    expect([0, 59.6, 61, 3600, 36_061].map(duration)).toEqual(["0:00", "1:00", "1:01", "1:00:00", "10:01:01"]);
  });
});

const step = (number: number, loss: number): RunEvent => ({
  kind: "step",
  step: number,
  loss,
  lr: 1e-3,
  norm: 1,
  tokens: 100,
  seconds: 0.1,
});
const ready = {
  kind: "ready",
  folder: "runs/x",
  parameters: 1234,
  trained: 1234,
  padding: 0.25,
  step: 0,
  perEpoch: 7,
  config: {
    task: "classify",
    model: { model: "encoder", vocab: 50, context: 8 },
    tokenizer: { kind: "word" },
    data: { train: 90, valid: 10 },
    training: { steps: 4, batch: 2 },
  },
} as unknown as RunEvent;

/** What is written when a run of four steps is shown, a step a second. */
function shown(isTTY: boolean): string {
  let [text, now] = ["", 0];
  const progress = new Progress({ isTTY, columns: 200, write: (piece) => (text += piece) }, () => now);
  progress.show(ready);
  for (const [i, loss] of [3, 2, 1.5, 1].entries()) {
    now += 1;
    progress.show(step(i + 1, loss));
    if (i === 1)
      progress.show({
        kind: "validation",
        step: 2,
        loss: 2.25,
        improved: true,
        progress: { bestLoss: 2.25, bestStep: 2, waited: 0 },
        seconds: 0.1,
      });
  }
  progress.end();
  return text;
}

describe("progress", () => {
  it("renews one line in a terminal, with a bar, the losses, the speed and the time left", () => {
    const text = shown(true);
    expect(text).toContain("encoder with 1,234 parameters, for classify; word tokenizer of 50 entries, context 8\n");
    expect(text).toContain("90 examples, 10 held out; an epoch is 7 batches of 2, 25.0 % of them padding\n");
    expect(text).toContain(
      "\r\x1b[Kstep 3/4  ━━━━━━━━━━━━━━━━━━──────  75 %  loss 1.500 (smoothed 2.167)  valid 2.250  1,000 tokens/s  0:01 left",
    );
    expect(text).toContain("loss over 4 steps\n  3.00 ┤█");
  });

  it("prints whole lines elsewhere, and not too many", () => {
    const text = shown(false);
    expect(text).not.toContain("\x1b");
    expect(text.split("\n").filter((line) => line.startsWith("step"))).toEqual([
      "step 1/4  loss 3.000 (smoothed 3.000)  1,000 tokens/s  0:03 left",
      "step 2/4  validation loss 2.2500  (the best so far)",
      "step 4/4  loss 1.000 (smoothed 1.875)  valid 2.250  1,000 tokens/s  0:04 in all",
    ]);
  });
});
