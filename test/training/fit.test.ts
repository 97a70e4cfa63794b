import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { trainingWindows } from "../../src/batches/windows.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { AdamW } from "../../src/training/adam.ts";
import { type FitOptions, fit, type Report } from "../../src/training/fit.ts";
import { initialise } from "../../src/weights/initialise.ts";

const loss = decoderLoss({ layers: 1, heads: 2, width: 16, context: 8, vocab: 7, dropout: 0.1 });
const plain = decoderLoss({ layers: 1, heads: 2, width: 16, context: 8, vocab: 7 });
const text = idsInMemory(Int32Array.from({ length: 400 }, (_, i) => (i * i) % 7));
const batches = (batch: number) => trainingWindows(text, { batch, context: 8 }, chance(1));
const fresh = (options = {}): AdamW => {
  const optimizer = new AdamW(parametersOf(loss), { weightDecay: 0.1, clip: 1, ...options });
  initialise(parametersOf(loss), chance(2), optimizer.weights);
  return optimizer;
};
let now = 0;
const options: FitOptions = {
  steps: 6,
  learningRate: (step) => 1e-2 / step,
  chance: chance(3),
  clock: () => now++,
  device: nodeDevice({ threads: 2 }),
};

async function reports(generator: AsyncGenerator<Report, unknown>): Promise<Report[]> {
  const all: Report[] = [];
  for await (const report of generator) all.push(report);
  return all;
}

describe("fit", () => {
  it("yields a report for every step, and the loss falls", async () => {
    const all = await reports(fit(plain, fresh(), batches(8), { ...options, steps: 40, learningRate: () => 1e-2 }));
    expect(all.map((report) => report.step)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    const losses = all.map((report) => (report.kind === "step" ? report.loss : Number.NaN));
    expect(losses[39]).toBeLessThan(0.8 * losses[0]);
  });

  it("goes on after a stop as if there had been none, dropout and all", async () => {
    const [straight, broken] = [fresh(), fresh()];
    const whole = await reports(fit(loss, straight, batches(4), options));
    const first = await reports(fit(loss, broken, batches(4), { ...options, steps: 2 }));
    const copy = fresh();
    copy.weights.data.set(broken.weights.data);
    for (const [name, buffer] of broken.state) copy.state.get(name)?.data.set(buffer.data);
    copy.steps = broken.steps;
    const rest = await reports(fit(loss, copy, batches(4), options));
    const facts = (all: readonly Report[]) => all.map(({ seconds: _, ...report }: Report & { seconds?: number }) => report);
    expect(facts([...first, ...rest])).toEqual(facts(whole));
    expect([...copy.weights.data]).toEqual([...straight.weights.data]);
  });

  it("accumulates several small batches to the step of a large one", async () => {
    const [large, small] = [fresh(), fresh({ accumulates: true })];
    const order = trainingWindows(text, { batch: 12, context: 8 }, chance(1));
    const parts = {
      perEpoch: 3 * order.perEpoch,
      batch(index: number) {
        const { feeds } = order.batch(Math.floor(index / 3));
        const third = (name: string) => ({
          ...feeds[name],
          shape: [4, 8],
          data: feeds[name].data.slice(32 * (index % 3), 32 * (index % 3) + 32) as Int32Array,
        });
        return { feeds: { ids: third("ids"), targets: third("targets") }, targets: 32, tokens: 32, places: 32 };
      },
    };
    const one = await reports(fit(plain, large, order, { ...options, steps: 3 }));
    const three = await reports(fit(plain, small, parts, { ...options, steps: 3, accumulate: 3 }));
    for (const [i, report] of one.entries()) expect((three[i] as { loss: number }).loss).toBeCloseTo((report as { loss: number }).loss, 5);
    for (const [i, weight] of large.weights.data.entries()) expect(small.weights.data[i]).toBeCloseTo(weight, 4);
  });

  it("stops when validation gets no better, and remembers the best", async () => {
    const losses = [3, 2, 2.5, 2.4, 1];
    let asked = 0;
    const validation = { every: 2, loss: async () => losses[asked++] };
    const generator = fit(plain, fresh(), batches(4), { ...options, steps: 20, validation, patience: 2 });
    const all = await reports(generator);
    expect(all.filter(({ kind }) => kind === "validation").map((report) => (report as { improved: boolean }).improved)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(all.at(-1)).toEqual({ kind: "stopped", step: 8, waited: 2 });
  });

  it("validates after the last step, even between two validations", async () => {
    const validation = { every: 4, loss: async () => 1 };
    const all = await reports(fit(plain, fresh(), batches(4), { ...options, validation }));
    expect(all.filter(({ kind }) => kind === "validation").map(({ step }) => step)).toEqual([4, 6]);
  });

  it("stops at a loss that is not finite, before the weights are touched, and says where it began", async () => {
    const optimizer = fresh();
    optimizer.weights.view("decoder/block.0/feedforward/expand/weight").data[3] = Number.POSITIVE_INFINITY as never;
    const before = [...optimizer.weights.data];
    await expect(reports(fit(plain, optimizer, batches(4), options))).rejects.toThrow(
      /^at step 1: the loss is NaN; it first appeared in what was fed as "decoder\/block.0\/feedforward\/expand\/weight"/,
    );
    expect([...optimizer.weights.data]).toEqual(before);
  });

  it("reports the loss without label smoothing, and what is made small beside it", async () => {
    const given = { layers: 1, heads: 2, width: 16, context: 8, vocab: 7 };
    const [smooth] = await reports(
      fit(decoderLoss(given, { smoothing: 0.3 }), fresh(), batches(4), { ...options, steps: 1, report: "plain" }),
    );
    const [sharp] = await reports(fit(decoderLoss(given), fresh(), batches(4), { ...options, steps: 1 }));
    if (smooth.kind !== "step" || sharp.kind !== "step") throw new Error("the first report is of a step");
    expect(smooth.loss).toBeCloseTo(sharp.loss, 5);
    expect(Math.abs((smooth.objective ?? Number.NaN) - smooth.loss)).toBeGreaterThan(1e-4);
    expect("objective" in sharp).toBe(false);
  });
});
