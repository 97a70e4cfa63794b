import { exchangedBytes } from "../cost/ranks.ts";
import type { RankFacts } from "./cost-ranks.ts";
import { grouped, percent, table, withUnit } from "./table.ts";

// What `qkv cost --ranks` prints for people: a table for each network, and what a rank holds.

const bytes = (value: number): string => withUnit(value, "B");
const count = (value: number): string => withUnit(value, "").trimEnd();

export function ranksReport(facts: RankFacts): string {
  const sections = facts.networks.map((network) => `At ${network.gbits} Gbit/s\n\n${timesTable(network.ranks)}`);
  return [introduction(facts), ...sections, words, memoryTable(facts)].join("\n\n");
}

function introduction(facts: RankFacts): string {
  const {
    model,
    parameters,
    trained,
    batch,
    length,
    sourceLength = 0,
    accumulate,
    tokens,
    flops,
    way,
    host,
    latency,
    aloneSeconds,
  } = facts;
  const some = trained === parameters ? "" : `, ${grouped(trained)} of them trained (FLOPs as if all were)`;
  const size = sourceLength === 0 ? `length ${grouped(length)}` : `lengths ${grouped(sourceLength)} + ${grouped(length)}`;
  const from = {
    measured: `measured here with ${facts.measured?.threads} threads`,
    given: "given",
    assumed: "assumed; --host-tflops, --measure",
  }[host.from];
  const nanoseconds = (seconds: number) => `${+(1e9 * seconds).toPrecision(3)} ns`;
  const compressed = way.compress === "none" ? "" : `, gradients in ${way.compress}`;
  const divided = way.shardOptimizer ? " divided by the ranks" : "";
  return [
    `${model.model} with ${grouped(parameters)} parameters${some}; one rank on each host`,
    `a step      ${grouped(tokens)} tokens (batch ${grouped(batch)} × ${size} × accumulate ${grouped(accumulate)}), ${withUnit(flops, "FLOP")}`,
    `a host      ${withUnit(host.flopsPerSecond, "FLOP/s")} (${from}): ${span(aloneSeconds)} a step alone`,
    `exchange    ${exchangedBytes(way)} bytes a parameter × (N − 1)/N${compressed}, ${+(1e6 * latency).toPrecision(3)} µs a message`,
    `            and ${nanoseconds(host.handling[way.compress])} a parameter to copy and add; the optimizer's step ${nanoseconds(host.updating)}${divided}`,
  ].join("\n");
}

const words = [
  "efficiency: the time of one host, divided by that of all together",
  "if hidden: the most it could be if ranks exchanged all of it while they compute",
  "for 50 %, for 90 %: tokens that a step must have, all ranks together",
].join("\n");

function timesTable(ranks: RankFacts["networks"][number]["ranks"]): string {
  const whole = ranks[0].trainingSeconds !== undefined;
  const rows = ranks.map((one) => [
    grouped(one.ranks),
    span(one.computing),
    span(one.exchanging),
    span(one.seconds),
    count(one.tokensPerSecond),
    percent(one.efficiency),
    percent(one.efficiencyIfHidden),
    count(one.tokensForHalf),
    count(one.tokensForNineTenths),
    ...(one.trainingSeconds === undefined ? [] : [span(one.trainingSeconds)]),
  ]);
  const header = ["ranks", "compute", "exchange", "a step", "tokens/s", "efficiency", "if hidden", "for 50 %", "for 90 %"];
  return table([...header, ...(whole ? ["all tokens"] : [])], rows);
}

const memoryWords = [
  "sums: of accumulated gradients",
  "sharded: the state with --shard-optimizer, which divides neither Muon's nor a mean of weights",
].join("\n");

function memoryTable({ memory }: RankFacts): string {
  const rows = memory.map(({ ranks, weights, gradients, sums, activations, optimizer, total }) => [
    grouped(ranks),
    ...[weights, gradients, sums, activations, optimizer.whole, total.whole, optimizer.sharded, total.sharded].map(bytes),
  ]);
  const header = ["ranks", "weights", "gradients", "sums", "activations", "optimizer", "in all", "sharded", "in all"];
  return `Memory of a rank\n\n${table(header, rows)}\n${memoryWords}`;
}

/** 0.345 seconds are 345 ms, 100,000 are 27.8 hours; from two of a unit on it is used. */
function span(seconds: number): string {
  const units = [
    [86_400, "days", 2],
    [3600, "hours", 2],
    [60, "min", 2],
    [1, "s", 1],
    [1e-3, "ms", 1],
    [1e-6, "µs", 0],
  ] as const;
  const [size, unit] = units.find(([one, , least]) => seconds >= one * least) ?? units[3];
  return `${+(seconds / size).toPrecision(3)} ${unit}`;
}
