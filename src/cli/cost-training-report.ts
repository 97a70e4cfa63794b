import type { CostMeasure } from "../bench/measured-cost.ts";
import { phaseNames } from "../cost/phases.ts";
import { type Published, publishedTokens, type TrainingTotal } from "../cost/training.ts";
import { grouped, percent, table, withUnit } from "./table.ts";

/** The arithmetic of a whole training: the usual estimate, what it leaves out, and what was published. */
export function totalSection(
  parameters: number,
  { tokens, estimate, pairs, rest, unmultiplied, flops }: TrainingTotal,
  published?: Published,
): string {
  const scientific = (value: number) => value.toExponential(3).replace(/^-/, "−");
  const share = (value: number) => `${value < 0 ? "−" : "+"}${percent(Math.abs(value) / estimate)}`;
  const rows = [
    [`6 · ${grouped(parameters)} parameters · ${grouped(tokens)} tokens`, scientific(estimate), ""],
    ["scores and weighted sums, which have no parameters", scientific(pairs), share(pairs)],
    ["what is no product: softmax, norms, activations, biases, loss", scientific(rest), share(rest)],
    ["parameters that are in no product (biases, norms, positions)", scientific(unmultiplied), share(unmultiplied)],
    ["counted in the graph, forward and backward", scientific(flops), share(flops - estimate)],
  ];
  const lines = [`Training on ${grouped(tokens)} tokens\n\n${table(["", "FLOPs", "of 6·N·D"], rows)}`];
  if (published) lines.push(publishedLine(parameters, tokens === publishedTokens ? flops : undefined, published));
  return lines.join("\n");
}

function publishedLine(parameters: number, flops: number | undefined, given: Published): string {
  const off = (found: number, printed: number) => `(ours ${found < printed ? "−" : "+"}${percent(Math.abs(found / printed - 1))})`;
  const size = `published: ${grouped(given.parameters)} parameters ${off(parameters, given.parameters)}`;
  if (flops === undefined || given.flops === undefined) return size;
  return `${size}, ${given.flops.toExponential(2)} FLOPs ${off(flops, given.flops)}`;
}

export function measuredSection({ threads, matmulFlopsPerSecond, streamBytesPerSecond, phases }: CostMeasure): string {
  const duration = (seconds: number) => (seconds < 1 ? `${+(1000 * seconds).toPrecision(3)} ms` : `${+seconds.toPrecision(3)} s`);
  const rows = phaseNames.flatMap((name) => {
    const found = phases[name];
    if (!found) return [];
    return [
      [
        name,
        duration(found.seconds),
        duration(found.medianSeconds),
        withUnit(found.flopsPerSecond, "FLOP/s"),
        percent(found.matmulShare),
        withUnit(found.bytesPerSecond, "B/s"),
        percent(found.streamShare),
      ],
    ];
  });
  const header = ["", "best", "median", "arithmetic", "of MatMul", "moved", "of stream"];
  const fraction = phases.training?.benchFraction;
  const peaks = `the best MatMul ${withUnit(matmulFlopsPerSecond, "FLOP/s")}, the best stream of additions ${withUnit(streamBytesPerSecond, "B/s")}`;
  const usual =
    fraction === undefined
      ? []
      : [`training counted as qkv bench does, tokens · (6 · parameters + 12 · layers · width · time): ${fraction.toFixed(3)}`];
  return [`Measured, ${threads} ${threads === 1 ? "thread" : "threads"}: ${peaks}\n`, table(header, rows), ...usual].join("\n");
}
