import { describe, expect, it } from "vitest";
import { taps } from "../../src/inspection/taps.ts";
import { type ModelInput, modelConfig, modelLoss } from "../../src/models/any.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { asked, type Change, isAt, read, toggled, wordsOf, written } from "../../studio/look/causes/changes.ts";
import { measured, sweepsOf } from "../../studio/look/causes/sweeps.ts";
import { formulaOf, type Term } from "../../studio/look/map/formula.ts";
import { farthest, histogramOf, planeOf, rowOf, shapeText, summaryOf } from "../../studio/look/map/numbers.ts";
import { mapOf, type Place, parametersAt, walkOf } from "../../studio/look/map/places.ts";

const small = { vocab: 11, width: 8, heads: 2, layers: 2, context: 16 } as const;
const models: Readonly<Record<string, { readonly input: object; readonly readsSource?: boolean }>> = {
  decoder: { input: { ...small, model: "decoder" } },
  "post norm, no mask": { input: { ...small, model: "decoder", normPlace: "post", mask: "none", positions: "sinusoidal" } },
  "rotary, rms, gated, grouped": {
    input: { ...small, model: "decoder", positions: "rotary", norm: "rms", activation: "swiglu", kvHeads: 1 },
  },
  "values of the first layer, squared ReLU": {
    input: { ...small, model: "decoder", valueResidual: true, activation: "relu2", qkNorm: true, bias: "none" },
  },
  "linear, no residual, no feed-forward": {
    input: { ...small, model: "decoder", attention: "linear", residual: false, feedforward: false },
  },
  "parallel, without norms": { input: { ...small, model: "decoder", parallel: "own-norm", norm: "none" } },
  classifier: { input: { ...small, model: "encoder", task: "classify", labels: 2 } },
  tagger: { input: { ...small, model: "encoder", task: "tag", labels: 3, window: 2 } },
  "encoder–decoder": { input: { ...small, model: "encoder-decoder" }, readsSource: true },
  "turned everywhere": { input: { ...small, model: "encoder-decoder", positions: "rotary", crossPositions: true }, readsSource: true },
  "rnn translator": { input: { model: "rnn", task: "translate", vocab: 11, width: 8 }, readsSource: true },
  "rnn language model": { input: { model: "rnn", task: "lm", vocab: 11, width: 8, layers: 2 } },
};

const drawn = (name: string) => {
  const { input, readsSource = false } = models[name];
  const config = modelConfig(input as ModelInput);
  return { config, all: taps(config), columns: mapOf(taps(config), config, { readsSource }) };
};

const leaves = (term: Term): string[] =>
  typeof term === "string"
    ? [term]
    : term.kind === "row"
      ? term.of.flatMap(leaves)
      : [...leaves(term.of), ...("by" in term ? leaves(term.by) : [])];

describe.each(Object.keys(models))("the map of a model (%s)", (name) => {
  const { config, all, columns } = drawn(name);
  const walk = walkOf(columns);

  it("has every tap once, in the order of the data's way, and nothing that it does not know", () => {
    const shown = walk.filter(({ kind }) => kind !== "mask").flatMap(({ tap = [] }) => tap);
    expect(new Set(shown).size).toBe(shown.length);
    const order = all.map((tap) => tap.name).filter((tap) => shown.includes(tap));
    const sides = [
      ...order.filter((tap) => tap.includes("encoder/") && columns.length > 1),
      ...order.filter((tap) => !(tap.includes("encoder/") && columns.length > 1)),
    ];
    expect(shown).toEqual(sides);
    const twins = all.map((tap) => tap.name).filter((tap) => !shown.includes(tap));
    for (const twin of twins) expect(twin).toMatch(/\/(added|states)$/); // another name of the place after it, or before it
    expect(walk.filter(({ kind }) => kind === "other")).toEqual([]);
    expect(new Set(walk.map(({ key }) => key)).size).toBe(walk.length);
  });

  it("begins with a text and ends with probabilities", () => {
    expect(walk.slice(0, 3).map(({ kind }) => kind)).toEqual(["text", "tokens", "embedded"]);
    expect(walk.at(-1)?.kind).toBe("probabilities");
  });

  it("has a formula for every place between them, with whole sizes", () => {
    for (const place of walk.filter(({ kind }) => kind !== "text" && kind !== "tokens")) {
      const formula = formulaOf(place, config, { time: 5, keys: 7, vocab: 11 });
      expect([place.key, formula]).not.toEqual([place.key, undefined]);
      for (const leaf of leaves(formula ?? "")) expect(leaf).not.toMatch(/undefined|NaN|null/);
    }
  });

  it("gives each parameter to some place", () => {
    const parameters = parametersOf(modelLoss(config)).entries.map((entry) => ({ name: entry.name, shape: entry.shape }));
    const owned = new Set(walk.flatMap((place) => parametersAt(place, parameters).map((one) => one.name)));
    expect(parameters.map((one) => one.name).filter((one) => !owned.has(one))).toEqual([]);
  });

  it("has sweeps over all layers of a kind", () => {
    const kinds = sweepsOf(all, columns.length > 1);
    expect(kinds.length).toBeGreaterThan(0);
    for (const kind of kinds) for (const tap of kind.taps) expect(all.map((one) => one.name)).toContain(tap);
  });
});

describe("a place of the map", () => {
  it("that nobody knows is listed by its own name", () => {
    const [column] = mapOf([{ name: "mine/stage.0/wonder", axes: ["time", "width"] }], undefined, { readsSource: false });
    expect(walkOf([column]).map(({ kind, label }) => [kind, label])).toContainEqual(["other", "mine/stage.0/wonder"]);
  });

  it("between scores and softmax hides keys where the model does, and is no place elsewhere", () => {
    const masks = (name: string) => walkOf(drawn(name).columns).filter(({ kind }) => kind === "mask").length;
    expect([masks("decoder"), masks("post norm, no mask"), masks("classifier"), masks("tagger"), masks("encoder–decoder")]).toEqual([
      2, 0, 0, 2, 2,
    ]);
  });

  it("has the sizes of its model in its formula", () => {
    const of = (kind: Place["kind"], name = "decoder", { layer, sublayer }: Pick<Place, "layer" | "sublayer"> = {}) => {
      const { config, columns } = drawn(name);
      const isMeant = (one: Place) =>
        one.kind === kind && (layer === undefined || one.layer === layer) && (sublayer === undefined || one.sublayer === sublayer);
      const place = walkOf(columns).find(isMeant) as Place;
      return leaves(formulaOf(place, config, { time: 5, keys: 5, vocab: 11 }) ?? "").join(" ");
    };
    expect(of("embedded")).toBe("X 5 × 8 = E 11 × 8 [ tokens ]");
    expect(of("q")).toBe("Q 2 × 5 × 4 = X 5 × 8 W q 8 × 8 + b q");
    expect(of("scores")).toBe("E 2 × 5 × 5 = Q 2 × 5 × 4 K 2 × 5 × 4 ⊤ 4");
    expect(of("k", "rotary, rms, gated, grouped")).toBe("K 1 × 5 × 4 = R ( X 5 × 8 W k 8 × 4 + b k )"); // keys that two heads share
    const mixed = "values of the first layer, squared ReLU";
    const cross = { sublayer: "cross" } as const;
    expect(of("q", "encoder–decoder", cross)).toBe("Q 2 × 5 × 4 = X 5 × 8 W q 8 × 8 + b q");
    expect(of("q", "turned everywhere", cross)).toBe("Q 2 × 5 × 4 = R ( X 5 × 8 W q 8 × 8 + b q )");
    expect(of("k", "turned everywhere", cross)).toBe("K 2 × 5 × 4 = R ( H 5 × 8 W k 8 × 8 + b k )");
    expect(of("v", mixed, { layer: 0 })).toBe("V 2 × 5 × 4 = X 5 × 8 W v 8 × 8");
    expect(of("v", mixed, { layer: 1 })).toBe("V 2 × 5 × 4 = λ 1 ( X 5 × 8 W v 8 × 8 ) + λ 2 V first");
    expect(of("hidden", mixed)).toBe("h 5 × 32 = relu 2 ( x 5 × 8 W 1 8 × 32 )");
    expect(of("mask")).toBe("E ij = −∞ for j > i");
    expect(of("mask", "tagger")).toBe("E ij = −∞ for | i − j | ≥ 2"); // a window to both sides
    expect(of("pattern", "linear, no residual, no feed-forward")).toBe("A 2 × 5 × 5 = E ∘ M");
    expect(of("output", "linear, no residual, no feed-forward")).toBe("X 5 × 8 ← Y");
    expect(of("output", "post norm, no mask")).toBe("X 5 × 8 ← norm ( X + Y )");
  });
});

describe("numbers of a place", () => {
  const activation = {
    name: "k",
    axes: ["head", "key", "size"],
    shape: [2, 2, 3],
    data: Float32Array.from({ length: 12 }, (_, i) => i - 3),
  };

  it("are a plane for each head; heads that share keys have the same", () => {
    expect(Array.from(planeOf(activation, 1).data)).toEqual([3, 4, 5, 6, 7, 8]);
    expect(planeOf(activation, 3, 4).data).toEqual(planeOf(activation, 2, 4).data);
    expect(Array.from(rowOf(planeOf(activation, 0), 1))).toEqual([0, 1, 2]);
    expect(shapeText(activation)).toBe("[head=2, key=2, size=3]");
  });

  it("are summed up by hand", () => {
    const data = Float32Array.of(3, -4, 0, 1);
    expect(summaryOf(data)).toEqual({ least: -4, most: 3, mean: 0, norm: Math.sqrt(26) });
    expect(histogramOf(data, { least: -4, most: 3 }, 7)).toEqual([1, 0, 0, 0, 1, 1, 1]);
    expect(farthest(data, 2)).toEqual([1, 0]);
  });
});

describe("changes in the address", () => {
  const changes: readonly Change[] = [
    { kind: "head", attention: "cross", layer: 1, head: 3 },
    { kind: "zero", tap: "decoder/block.0/feedforward/out" },
    { kind: "zero", tap: "odd!name%21", positions: [2] },
    { kind: "swap", tap: "decoder/block.1/output", positions: [0, 12] },
    { kind: "swap", tap: "model/joined" },
  ];

  it("come back as they were", () => {
    expect(read(written(changes))).toEqual(changes);
    expect(written([])).toBeUndefined();
    for (const change of changes) expect(toggled(toggled(changes, change), change).toSorted()).toHaveLength(changes.length);
  });

  it.each(["", "!!", "h.x.0.0", "h.s.a.b", "q..tap", "p.", "z."])("leave out what is no change: %j", (text) =>
    expect(read(text)).toEqual([]),
  );

  it("become what a model is asked, those of another text only where there is one", () => {
    expect(asked(changes, { text: undefined })).toEqual([
      { layer: 1, head: 3, attention: "cross" },
      { tap: "decoder/block.0/feedforward/out", value: 0 },
      { tap: "odd!name%21", value: 0, positions: [2] },
    ]);
    expect(asked(changes.slice(3), { text: "it", target: "es" })).toEqual([
      { tap: "decoder/block.1/output", from: "it", target: "es", positions: [0, 12] },
      { tap: "model/joined", from: "it", target: "es" },
    ]);
  });

  it("are said in words, and found at their place", () => {
    expect(wordsOf(changes[3], (i) => `t${i}`)).toBe("decoder/block.1/output is as in the other text at 0 (t0), 12 (t12)");
    expect(isAt(changes[0], { kind: "mixed", layer: 1, side: "own", sublayer: "cross" })).toBe(true);
    expect(isAt(changes[0], { kind: "mixed", layer: 1, side: "own", sublayer: "attention" })).toBe(false);
  });
});

it("a sweep measures how far an answer goes", () => {
  const ends = { before: 0.2, other: 0.6 };
  expect(measured("probability", ends, 0.4)).toBeCloseTo(0.2);
  expect(measured("share", ends, 0.4)).toBeCloseTo(0.5);
  expect(measured("loss", ends, 0.4)).toBeCloseTo(Math.log(2));
  expect(measured("share", { before: 0.2 }, 0.4)).toBe(0);
});
