import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { ConfigError, FormatError } from "../../src/base/errors.ts";
import type { Batches } from "../../src/batches/batch.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { trainingWindows } from "../../src/batches/windows.ts";
import { cost } from "../../src/cost/cost.ts";
import { Checkpoints } from "../../src/disk/checkpoints.ts";
import { evaluateBatches } from "../../src/evaluation/batches.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { writeBest, writeSamples } from "../../src/generation/writer.ts";
import { buildGraph } from "../../src/graph/graph.ts";
import { float32 } from "../../src/graph/type.ts";
import { nextTokensOf } from "../../src/inspection/answers.ts";
import { attentionOf } from "../../src/inspection/attention.ts";
import { logitLens } from "../../src/inspection/lens.ts";
import { look } from "../../src/inspection/look.ts";
import { ablateHead, patch } from "../../src/inspection/patch.ts";
import { taps } from "../../src/inspection/taps.ts";
import { block } from "../../src/layers/block.ts";
import { dense } from "../../src/layers/linear.ts";
import { norm } from "../../src/layers/norm.ts";
import { positioned } from "../../src/layers/positions.ts";
import { fit as fitting } from "../../src/library/here.ts";
import { resume, train } from "../../src/library/train.ts";
import { open } from "../../src/library/trained.ts";
import { modelLoss } from "../../src/models/any.ts";
import { decoderConfig } from "../../src/models/config.ts";
import { defineModel, type OwnModel } from "../../src/models/own.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { add, embedding, linear, mean, relu, reshape, transpose } from "../../src/ops/index.ts";
import { checkpointFiles, restore } from "../../src/runs/state.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import { TrainedModel } from "../../src/trained/trained.ts";
import { AdamW } from "../../src/training/adam.ts";
import type { Optimizer } from "../../src/training/optimizer.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { weightsInMemory } from "../../src/weights/weights.ts";
import { expectRefusal, Workplace } from "../support/command.ts";

const blockConfig = decoderConfig({ vocab: 1, positions: "none", heads: 2 });

/** One block, used again and again. */
const repeating = defineModel({
  name: "repeating",
  task: "lm",
  settings: { vocab: 27, context: 8, width: 16, layers: 3, dropout: 0.1 },
  scores(p, { ids }, { vocab, context, width, layers, dropout }) {
    const table = p.param("tokens", [vocab, width]);
    let y = positioned(p.at("positions"), embedding(table, ids), { kind: "learned", context });
    for (let i = 0; i < layers; i++) y = block(p.shared("block", i), y, { ...blockConfig, hidden: 2 * width, dropout }, { causal: true });
    return linear(norm(p.at("norm"), y, { kind: "layer" }), table, undefined, { transposed: true });
  },
});

/** Which quarter of a picture of 4 × 4 is bright, from its four parts. */
const quarters = defineModel({
  name: "quarters",
  task: "classify",
  settings: { labels: 4, width: 8 },
  inputs: () => ({ image: float32(["batch", 4, 4]) }),
  scores(p, { image }, { labels, width }) {
    const [batch] = image.shape;
    const parts = reshape(transpose(reshape(image, [batch, 2, 2, 2, 2]), [0, 1, 3, 2, 4]), [batch, 4, 4]);
    const x = positioned(p.at("positions"), dense(p.at("patches"), parts, width), { kind: "learned", context: 4 });
    const y = block(p.at("block", 0), x, { ...blockConfig, hidden: 2 * width }, { causal: false });
    return dense(p.at("labels"), mean(y, { axis: 1 }), labels);
  },
});

const text = "the cat sat on the mat and the rat sat on the cat ".repeat(20);
const workplace = new Workplace();
const { folder } = workplace;

async function trained(model: OwnModel, optimizer: Optimizer, batches: Batches, steps: number): Promise<void> {
  const options = { steps, learningRate: () => 5e-3, chance: chance(1), device: nodeDevice({ threads: 1 }), clock: () => 0 };
  for await (const _ of fitting(modelLoss(model), optimizer, batches, options));
}

const started = (model: OwnModel): Optimizer => {
  const optimizer = new AdamW(parametersOf(modelLoss(model)));
  initialise(optimizer.weights.layout, chance(1), optimizer.weights);
  return optimizer;
};

describe("a language model of one's own", async () => {
  const tokenizer = await trainTokenizer("char", [text]);
  const model = repeating({ vocab: tokenizer.size });
  const ids = idsInMemory(tokenizer.encode(text));
  const batches = trainingWindows(ids, { batch: 4, context: model.context }, chance(1));
  const optimizer = started(model);
  const run = new TrainedModel({ model, tokenizer, weights: weightsInMemory(optimizer.weights), device: nodeDevice({ threads: 1 }) });
  const data = { kind: "text", texts: [ids], bytes: text.length } as const;
  afterAll(() => run.release());

  beforeAll(() => trained(model, optimizer, batches, 120));

  it("learns, and is measured", async () => {
    const untrained = new TrainedModel({ model, tokenizer, weights: weightsInMemory(started(model).weights), device: nodeDevice() });
    const [before, after] = [await evaluate(untrained, data), await evaluate(run, data)];
    await untrained.release();
    if (!("loss" in before && "loss" in after)) throw new Error("a language model has a loss");
    expect(before.loss).toBeGreaterThan(2.5);
    expect(after.loss).toBeLessThan(1.3);
    const found = await evaluateBatches(run, [batches.batch(0)]);
    expect(found.targets).toBe(32);
    expect(found.perplexity).toBeCloseTo(Math.exp(found.loss), 10);
    expect(found.accuracy).toBeGreaterThan(0.5);
  });

  it("goes on from a checkpoint bit for bit", async () => {
    const whole = started(model);
    await trained(model, whole, batches, 12);
    const first = started(model);
    await trained(model, first, batches, 5);
    const checkpoints = new Checkpoints(join(folder, "checkpoints"));
    checkpoints.save(first.steps, checkpointFiles(first));
    const second = new AdamW(parametersOf(modelLoss(model)));
    const latest = checkpoints.latest(() => {});
    if (!latest) throw new Error("there is a checkpoint");
    restore(latest, second);
    expect(second.steps).toBe(5);
    await trained(model, second, batches, 12);
    expect(second.weights.data).toEqual(whole.weights.data);
  });

  it("writes: sampled, and by beams, as its own scores say", async () => {
    const [[sample]] = await writeSamples(run, ["the c"], { tokens: 12, temperature: 0 });
    expect(sample.text).toMatch(/^at (sat|cat|the|and)/);
    const { candidates } = await nextTokensOf(run, "the c", { top: 1 });
    expect(candidates[0].token).toBe("a");
    const [[best]] = await writeBest(run, ["the c"], { tokens: 3, beams: 2 });
    expect(best.text).toBe("at ");
  });

  it("has taps for each use of what is shared, which can be looked at, patched and silenced", async () => {
    const names = taps(model).map(({ name }) => name);
    expect(names.filter((name) => name.endsWith("pattern"))).toEqual([0, 1, 2].map((i) => `block.${i}/attention/pattern`));
    const { activations, tokens } = await look(run, "the cat", ["block.1/attention/pattern"]);
    expect(tokens).toHaveLength(7);
    expect(activations.get("block.1/attention/pattern")?.shape).toEqual([2, 7, 7]);
    const attention = await attentionOf(run, "the cat");
    expect(attention.layers.map(({ heads }) => heads.length)).toEqual([2, 2, 2]);
    expect(attention.rows).toBeUndefined();
    const one = await patch(run, "the cat", [ablateHead(run, 0, 1)]);
    const other = await patch(run, "the cat", [ablateHead(run, 1, 1)]);
    expect(one.difference.divergence).toBeGreaterThan(0);
    expect(other.difference.divergence).not.toBe(one.difference.divergence);
    await expect(logitLens(run, "the cat")).rejects.toThrow(
      new ConfigError(
        'the logit lens is for models of qkv, and the model "repeating" is one of your own; its taps and its cost can be looked at',
        {
          code: "config.task",
        },
      ),
    );
  });

  it("has a cost: parameters once, work for each use", async () => {
    const [one, three] = await Promise.all([1, 3].map((layers) => cost(repeating({ layers }), { device: nodeDevice() })));
    expect(three.parameters).toBe(one.parameters);
    const inside = (found: typeof one) => found.phases.sequence?.parts.find(({ name }) => name === "feed-forward")?.products ?? 0;
    expect(inside(one)).toBe(2 * 2 * 8 * 16 * 32); // two products for 8 positions
    expect(inside(three)).toBe(3 * inside(one));
    expect(three.phases.token?.sizes).toEqual({ batch: 1, time: 8 });
    expect(three.kvCacheBytes).toBe(0);
  });
});

describe("a model of one's own in a run folder", () => {
  const file = join(folder, "cats.txt");
  const out = join(folder, "run");
  const schedule = { schedule: "constant", warmup: 0, saveEvery: 3, evalEvery: 3 } as const;
  const settings = { steps: 9, ...schedule, batch: 2, threads: 1, cache: join(folder, "cache") };
  beforeAll(() => writeFileSync(file, text));

  it("is trained and opened by the program that defines it, and resumes exactly", async () => {
    const run = await train(file, { ...settings, model: repeating({ layers: 2 }), out });
    const written = await run.samples(["the"], { tokens: 5, temperature: 0 });
    await run.release();
    const config = JSON.parse(readFileSync(join(out, "config.json"), "utf8"));
    expect(config.model).toEqual({
      model: "own",
      name: "repeating",
      task: "lm",
      vocab: 15,
      context: 8,
      settings: { vocab: 15, context: 8, width: 16, layers: 2, dropout: 0.1 },
      reads: "text",
    });
    const again = open(out, { models: [repeating] });
    expect(await again.samples(["the"], { tokens: 5, temperature: 0 })).toEqual(written);
    await again.release();
    const half = join(folder, "half");
    await (await train(file, { ...settings, steps: 6, model: repeating({ layers: 2 }), out: half })).release();
    await (await resume(half, { steps: 9, models: [repeating], cache: settings.cache })).release();
    const weights = (one: string) => readFileSync(join(one, "checkpoints/9/weights.safetensors"));
    expect(weights(half).equals(weights(out))).toBe(true);
  });

  it("is refused where nobody knows it, by the library and by the command", async () => {
    const sentence =
      'the model "repeating" is a program\'s own, and only that program can open it: open("…", { models: [its definition] })';
    expect(() => open(out)).toThrow(FormatError);
    expect(() => open(out)).toThrow(sentence);
    expect(() => open(out, { models: [quarters] })).toThrow(`${sentence}; the program gave "quarters"`);
    expectRefusal(await workplace.qkv("info", out), 1, 'the model "repeating" is a program\'s own, and only that program can open it');
  });

  it("is refused for data of another task, before a folder is made", async () => {
    const other = join(folder, "other");
    const tagger = defineModel({
      name: "tagger",
      task: "tag",
      settings: { vocab: 5, context: 4, labels: 3 },
      scores: (p, { ids }, { vocab, labels }) => embedding(p.param("scores", [vocab, labels]), ids),
    });
    await expect(train(file, { ...settings, model: tagger(), out: other })).rejects.toThrow(
      'the data is for lm, and the model "tagger" is for tag',
    );
    expect(existsSync(other)).toBe(false);
  });
});

describe("models of one's own for other tasks", () => {
  const settings = { steps: 60, batch: 4, threads: 1, lr: 2e-2, cache: join(folder, "cache") };
  const rows = (all: readonly (readonly [string, string])[]) => all.map((pair) => pair.join("\t")).join("\n");
  const colours = ["red", "blue", "pink", "grey", "teal"].map((word, i) => [`${word} ${"abcde"[i]}`, "colour"] as const);
  const numbers = ["one", "two", "four", "nine", "ten"].map((word, i) => [`${word} ${"abcde"[i]}`, "number"] as const);

  it("a bag of words classifies texts", async () => {
    const bag = defineModel({
      name: "bag",
      task: "classify",
      settings: { vocab: 1, context: 8, labels: 2 },
      scores: (p, { ids }, { vocab, labels }) => mean(embedding(p.param("scores", [vocab, labels]), ids), { axis: 1 }),
    });
    const file = workplace.write("words.tsv", `text\tlabel\n${rows([...colours, ...numbers])}\n`);
    const run = await train(file, { ...settings, model: bag(), out: join(folder, "bag"), valid: file });
    const [{ label }] = await run.classify(["pink"]);
    expect(label).toBe("colour");
    expect(await run.evaluate()).toMatchObject({ accuracy: 1, labels: ["colour", "number"] });
    await run.release();
  });

  it("a table of pairs translates, reading everything again for each token", async () => {
    const pairs = defineModel({
      name: "pairs",
      task: "translate",
      settings: { vocab: 1, context: 8, width: 16 },
      scores(p, { source, target }, { vocab, width }) {
        const read = mean(embedding(p.param("source-table", [vocab, width]), source), { axis: 1, keep: true }); // [batch, 1, width]
        const written = embedding(p.param("target-table", [vocab, width]), target); // [batch, time, width]
        return dense(p.at("scores"), relu(dense(p.at("both"), add(written, p.tap("read", read)), width)), vocab);
      },
    });
    const file = workplace.write(
      "pairs.tsv",
      `source\ttarget\n${rows([
        ["a", "x"],
        ["b", "y"],
        ["c", "z"],
        ["d", "w"],
      ])}\n`,
    );
    const run = await train(file, { ...settings, steps: 150, model: pairs(), tokenizer: "char", valid: file, out: join(folder, "pairs") });
    expect((await run.translate(["b", "d"])).map(({ target }) => target)).toEqual(["y", "w"]);
    expect((await run.look("a", ["read"])).targetTokens).toEqual(["<s>", "x"]);
    await run.release();
  });
});

describe("a model that reads no text", () => {
  const model = quarters();
  /** Batch n: pictures of noise with one bright quarter each. */
  const picture = (source: ReturnType<typeof chance>, label: number): number[] =>
    Array.from({ length: 16 }, (_, i) => 0.3 * source.normal(i) + (Math.floor(i / 8) * 2 + Math.floor((i % 4) / 2) === label ? 1 : 0));
  const batches: Batches = {
    perEpoch: 100,
    batch(index) {
      const labels = Array.from({ length: 8 }, (_, i) => chance(index).fork("label").integer(i, 4));
      const pixels = labels.flatMap((label, i) => picture(chance(index).fork(i), label));
      const feeds = { image: array("float32", Float32Array.from(pixels), [8, 4, 4]), targets: array("int32", labels) };
      return { feeds, targets: 8, tokens: 8, places: 8 };
    },
  };
  const optimizer = started(model);
  const run = new TrainedModel({
    model,
    labels: ["north-west", "north-east", "south-west", "south-east"],
    weights: weightsInMemory(optimizer.weights),
    device: nodeDevice({ threads: 1 }),
  });
  afterAll(() => run.release());
  beforeAll(() => trained(model, optimizer, batches, 250));
  const image = array("float32", Float32Array.from(picture(chance(9), 2)), [1, 4, 4]);

  it("learns from floats, and is measured on batches", async () => {
    const { accuracy, loss } = await evaluateBatches(
      run,
      [1000, 1001, 1002].map((n) => batches.batch(n)),
    );
    expect(accuracy).toBeGreaterThan(0.9);
    expect(loss).toBeLessThan(0.5);
  });

  it("is looked at, patched and counted by what it is fed", async () => {
    expect((await nextTokensOf(run, { image }, { top: 1 })).candidates[0].token).toBe("south-west");
    const attention = await attentionOf(run, { image });
    expect(attention.tokens).toEqual(["0", "1", "2", "3"]);
    expect(attention.layers[0].heads).toHaveLength(2);
    expect((await patch(run, { image }, [ablateHead(run, 0, 0)])).difference.divergence).toBeGreaterThan(0);
    const { parameters, phases } = await cost(model, { device: nodeDevice() });
    expect(parameters).toBe(optimizer.weights.data.length);
    expect(phases.token).toBeUndefined();
  });

  it("refuses text, and what it cannot do", async () => {
    await expect(look(run, "a text", ["*pattern"])).rejects.toThrow('the model "quarters" reads no text; give its inputs by name: image');
    const two = array("float32", new Float32Array(32), [2, 4, 4]);
    await expect(look(run, { image: two }, ["*pattern"])).rejects.toThrow('"image" is [2, 4, 4]; what is looked at is a batch of one');
    await expect(writeSamples(run, ["a"], {})).rejects.toThrow('the model "quarters" has no tokenizer');
  });
});

describe("a definition", () => {
  it("is checked: settings that it has not, of another type, and scores of another shape", () => {
    expect(() => repeating({ wdith: 3 } as never)).toThrow(
      'at config.wdith: the model "repeating" has no such setting; did you mean "width"?',
    );
    expect(() => repeating({ width: "3" } as never)).toThrow('at config.width: the model "repeating" wants a number here, not "3"');
    const flat = defineModel({
      name: "flat",
      task: "lm",
      settings: { vocab: 5, context: 4 },
      scores: (p, { ids }) => embedding(p.param("scores", [5, 3]), ids),
    });
    expect(() => parametersOf(modelLoss(flat()))).toThrow(
      'the model "flat" is for lm, so its scores are [batch, time, vocab] with vocab = 5, not [batch=1, time=1, 3]',
    );
    const sizeless = defineModel({ name: "sizeless", task: "lm", settings: { width: 1 }, scores: (_, { ids }) => ids });
    expect(() => sizeless()).toThrow(
      'the model "sizeless" reads ids, so it needs a setting "vocab", a whole number from 1 on, not undefined',
    );
  });

  it("drops only while it is trained", () => {
    const noise = (training: boolean) => [...buildGraph(modelLoss(repeating({ layers: 2 }), { training })).noise.keys()];
    expect(noise(false)).toEqual([]);
    expect(noise(true)).toContain("block.0/drop1/dropout");
    expect(noise(true)).toContain("block.1/drop1/dropout"); // another for each use
  });
});
