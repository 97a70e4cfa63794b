import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectRefusal, Workplace } from "../support/command.ts";

const place = new Workplace();
const json = async (...args: string[]) => {
  const { stdout } = await place.done("cost", ...args, "--json");
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return JSON.parse(stdout);
};

describe("qkv cost", () => {
  it("prints one line of JSON in the promised form", async () => {
    const found = await json("--preset", "w1", "--batch", "12");
    expect([found.parameters, found.batch, found.length, found.decode]).toEqual([809_856, 12, 64, 64]);
    for (const key of ["flops", "bytes", "intensity", "activationBytes", "kvCacheBytes"]) expect(found[key], key).toBeGreaterThan(0);
    expect(Object.keys(found.phases)).toEqual(["training", "sequence", "token"]);
    for (const list of ["parts", "operations", "layers"]) {
      expect(found[list], list).toEqual(found.phases.training[list]);
      expect(
        found[list].reduce((total: number, { flops }: { flops: number }) => total + flops, 0),
        list,
      ).toBe(found.flops);
    }
    expect(found.kvCacheBytes).toBe(12 * 2 * 64 * 128 * 4 * 4);
    expect(found.lecture.sequence.every(({ formula, counted }: { formula: number; counted: number }) => formula === counted)).toBe(true);
  });

  it("takes the flags of train, lengths, and a token at another length", async () => {
    const flags = "--model encoder-decoder --layers 2 --heads 2 --width 16 --vocab 50 --length 12 --source-length 9 --decode 5";
    const found = await json(...flags.split(" "));
    expect([found.model.model, found.length, found.sourceLength, found.decode]).toEqual(["encoder-decoder", 12, 9, 5]);
    expect(found.kvCacheBytes).toBe(2 * (5 + 9) * 16 * 2 * 4);
    expect(found.total).toBeUndefined();
  });

  it("prints the arithmetic of GPT-3's training beside what was published, in a hundred columns", async () => {
    const { stdout } = await place.done("cost", "--preset", "gpt3-175b");
    expect(stdout).toContain("6 · 174,604,259,328 parameters · 300,000,000,000 tokens");
    expect(stdout).toContain("published: 175,000,000,000 parameters (ours −0.2 %), 3.14e+23 FLOPs (ours +1.9 %)");
    expect(stdout).toMatch(/^feed-forward {2,}115,970,015,232 {2}66\.4 % .* 65\.1 %/m);
    for (const line of stdout.split("\n")) expect([...line].length, line).toBeLessThanOrEqual(100);
  });

  it("is the model of a run, with the run's batch", async () => {
    const text = place.write("a.txt", "to be or not to be, that is the question. ".repeat(40));
    await place.done("train", text, ..."--layers 1 --heads 1 --width 16 --context 16 --batch 4 --steps 2 --threads 1 --out run".split(" "));
    const found = await json("run");
    expect([found.model.width, found.batch, found.length]).toEqual([16, 4, 16]);
    expectRefusal(await place.qkv("cost", "run", "--layers", "3"), 2, "a run has its own model, so --layers has no meaning beside run");
  });

  it("measures, and draws a roofline", async () => {
    const small = "--layers 1 --heads 2 --width 32 --length 16 --dropout 0.1 --threads 1 --measure --out roofline.svg";
    const { measured } = await json(...small.split(" "));
    for (const phase of ["training", "sequence", "token"]) {
      const { seconds, flopsPerSecond, matmulShare, streamShare } = measured.phases[phase];
      expect(seconds, phase).toBeGreaterThan(0);
      expect(flopsPerSecond / measured.matmulFlopsPerSecond, phase).toBeCloseTo(matmulShare, 9);
      expect(streamShare, phase).toBeGreaterThan(0);
    }
    expect(measured.phases.training.benchFraction).toBeGreaterThan(0);
    const picture = readFileSync(place.path("roofline.svg"), "utf8");
    expect([picture.startsWith("<svg"), picture.includes("training")]).toEqual([true, true]);
  });

  it("fits the exponents of the lecture", async () => {
    const { stdout } = await place.done("cost", "--scaling");
    expect(stdout).toMatch(/^scores +2 {2}2\.000$/m);
    expect(stdout).toMatch(/^feed-forward +2 {2}2\.000$/m);
  });

  it("foretells training on many hosts, for each network, in a hundred columns", async () => {
    const flags = "--preset gpt2 --batch 64 --accumulate 8 --ranks 2,8,64 --network 1,10 --tokens 2.5e9";
    const { stdout } = await place.done("cost", ...flags.split(" "));
    expect(stdout).toContain("decoder with 124,439,808 parameters; one rank on each host");
    expect(stdout).toContain("524,288 tokens (batch 64 × length 1,024 × accumulate 8), 429 TFLOP");
    expect(stdout).toContain("200 GFLOP/s (assumed; --host-tflops, --measure): 35.8 min a step alone");
    expect(stdout).toMatch(/At 1 Gbit\/s\n\nranks [\s\S]*^8 +4\.47 min[\s\S]*At 10 Gbit\/s\n\nranks [\s\S]*Memory of a rank/m);
    for (const line of stdout.split("\n")) expect([...line].length, line).toBeLessThanOrEqual(100);
  });

  it("foretells it as JSON, with the flags of train", async () => {
    const found = await json(
      ..."--preset w2 --batch 8 --ranks 2,4 --network 1 --host-tflops 3 --shard-optimizer --compress bf16".split(" "),
    );
    expect(found).toMatchObject({
      parameters: 10_770_816,
      trained: 10_770_816,
      tokens: 2048,
      way: { compress: "bf16", shardOptimizer: true },
    });
    expect(found.host).toMatchObject({ flopsPerSecond: 3e12, from: "given" });
    const [{ gbits, ranks }] = found.networks;
    expect([gbits, ranks.map((one: { ranks: number }) => one.ranks)]).toEqual([1, [2, 4]]);
    for (const { seconds, computing, exchanging, updating, efficiency } of ranks) {
      expect(seconds).toBeCloseTo(computing + exchanging + updating, 9);
      expect(efficiency).toBeLessThan(1);
    }
    expect(found.memory[1].optimizer).toEqual({ whole: 8 * 10_770_816, sharded: 2 * 10_770_816 });
  });

  it("foretells the training of a run, with its batch, its accumulation and what it trains", async () => {
    const text = place.write("b.txt", "to be or not to be, that is the question. ".repeat(40));
    const flags =
      "--layers 1 --heads 1 --width 16 --context 16 --batch 4 --accumulate 3 --freeze decoder/tokens --steps 2 --threads 1 --out part";
    await place.done("train", text, ...flags.split(" "));
    const found = await json("part", "--ranks", "2");
    expect([found.batch, found.length, found.accumulate, found.tokens]).toEqual([4, 16, 3, 4 * 16 * 3]);
    expect(found.parameters - found.trained).toBe(16 * found.model.vocab);
    expect(found.networks.map(({ gbits }: { gbits: number }) => gbits)).toEqual([1, 10, 100]);
    expect(found.memory[0].sums).toBe(4 * found.trained);
    expect((await json("part", "--ranks", "2", "--accumulate", "5")).accumulate).toBe(5);
    const whole = await json("part");
    expect([whole.accumulate, whole.total.tokens]).toEqual([3, 2 * 3 * 4 * 16]);
  });

  it("counts the mean of a run's weights, which ranks do not divide", async () => {
    const text = place.write("c.txt", "to be or not to be, that is the question. ".repeat(40));
    const flags = "--layers 1 --heads 1 --width 16 --context 16 --batch 4 --optimizer muon --average 5 --steps 2 --threads 1 --out mean";
    await place.done("train", text, ...flags.split(" "));
    const { parameters, stateBytes } = await json("mean");
    const [{ optimizer }] = (await json("mean", "--ranks", "4")).memory;
    expect(optimizer.whole).toBeCloseTo(stateBytes);
    expect(optimizer.sharded).toBeCloseTo((8 * parameters) / 4);
    expect(stateBytes).toBeGreaterThan(8 * parameters); // a mean and two moments, less the second ones of matrices
  });

  it("foretells what docs/many-machines.md says", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/many-machines.md"), "utf8");
    const rows = [...page.matchAll(/^\| GPT-2 (\w+) \| (\S+) \| (\S+) \| (.*) \|$/gm)];
    expect(rows).toHaveLength(12);
    const flags = "--batch 64 --accumulate 8 --ranks 2,4,8,16,32,64 --network 1,10,100".split(" ");
    for (const size of ["small", "medium"])
      for (const tflops of ["0.2", "3"]) {
        const preset = size === "small" ? "gpt2" : "gpt2-medium";
        const { networks } = await json("--preset", preset, "--host-tflops", tflops, ...flags);
        for (const { gbits, ranks } of networks) {
          const row = rows.find(([, model, speed, network]) => model === size && speed === tflops && network === `${gbits}`);
          const shares = ranks.map(({ efficiency }: { efficiency: number }) => (100 * efficiency).toFixed(0));
          expect(row?.[4].split(" | "), `${preset}, ${tflops} TFLOP/s, ${gbits} Gbit/s`).toEqual(shares);
        }
      }
  });

  it("foretells with what this machine computes", async () => {
    const small = "--layers 1 --heads 2 --width 32 --length 16 --batch 4 --threads 1 --ranks 2 --measure";
    const found = await json(...small.split(" "));
    expect(found.host.from).toBe("measured");
    expect(found.host.flopsPerSecond).toBe(found.measured.phases.training.flopsPerSecond);
    expect(Object.keys(found.measured.phases)).toEqual(["training"]);
  });

  it.each<[string, string, number, string]>([
    ["a network without ranks", "--network 10", 2, "--network is for training on many hosts; give --ranks too"],
    ["no ranks", "--ranks 0", 2, "a whole number from 1 on is wanted"],
    ["ranks that are no list", "--ranks 2,,4", 2, "a whole number from 1 on is wanted"],
    ["a network without speed", "--ranks 2 --network 0", 2, "a number above 0 is wanted"],
    ["a speed beside a measured one", "--ranks 2 --measure --host-tflops 1", 2, "give one of them"],
    ["a decoded token on many hosts", "--ranks 2 --decode 5", 2, "so --decode has no meaning beside it"],
    ["a picture of many hosts", "--ranks 2 --measure --out a.svg", 2, "so --out has no meaning beside it"],
    ["a preset that there is not", "--preset gpt3-176b", 2, 'did you mean "gpt3-175b"?'],
    ["a length past a learned table", "--preset w1 --length 65", 2, "a length of 65 is more than the 64 positions that the model learns"],
    ["a setting that does not fit", "--heads 3", 2, "--heads: a --width of 128 is not divisible into 3 heads"],
    ["a model that cannot be run here", "--preset gpt3-175b --measure", 1, "this model is too big to train here"],
    ["a picture of nothing measured", "--out a.svg", 2, "give --measure too"],
    ["a picture of another kind", "--measure --out a.pdf", 2, "a roofline is a .svg or a .png"],
    ["a token of a model that writes none", "--model encoder --decode 5", 2, "--decode: an encoder writes no tokens"],
    ["blocks of a model that has none", "--model rnn --checkpoint-blocks", 2, "an RNN has none; leave it out"],
    ["patterns of attention without any", "--attention linear --recompute-pattern", 2, "and --attention linear is another; leave it out"],
    [
      "patterns that are masked afterwards",
      "--mask after-softmax --recompute-pattern",
      2,
      "and --mask after-softmax is another; leave it out",
    ],
    ["a model beside --scaling", "--scaling --width 64", 2, "so --width has no meaning beside it"],
    ["a run beside --scaling", "runs/mine --scaling", 2, "so runs/mine has no meaning beside it"],
    ["a run that is not there", "nowhere", 1, "nowhere"],
  ])("refuses %s", async (_, args, code, sentence) => {
    expectRefusal(await place.qkv("cost", ...args.split(" ")), code, sentence);
  });
});
