import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import { Dim } from "../../src/graph/dim.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { float32, int32 } from "../../src/graph/type.ts";
import { type AttentionConfig, attention, knownSource } from "../../src/layers/attention.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";

// Cross-attention that knows its places turns queries and keys as PyTorch does, each by its place in its own sequence. cross.py made the values.

interface Reference {
  readonly config: Partial<AttentionConfig>;
  readonly shape: readonly number[];
  readonly sourceShape: readonly number[];
  readonly x: readonly number[];
  readonly source: readonly number[];
  readonly weights: Readonly<Record<string, readonly number[]>>;
  readonly pattern: readonly number[];
  readonly y: readonly number[];
}
const reference: Reference = JSON.parse(readFileSync(join(import.meta.dirname, "cross.json"), "utf8"));
const { shape, sourceShape, weights: given } = reference;
const config = {
  ...reference.config,
  ...{ multiHead: "split", score: "scaled", attention: "softmax", mask: "before-softmax", positions: "rotary" },
  ...{ dropout: 0, bias: "none", crossPositions: true },
} as AttentionConfig;

const numbers = (values: readonly number[], sizes: readonly number[]) => array("float32", Float32Array.from(values), [...sizes]);
const feeds = { x: numbers(reference.x, shape), source: numbers(reference.source, sourceShape) };
const io = { x: float32([...shape]), source: float32([...sourceShape]) };

const near = (found: { readonly data: ArrayLike<unknown> }, wanted: readonly number[]) =>
  expect(gradientGap(Float32Array.from(wanted), found.data as Float32Array)).toBeLessThan(1e-5);

function weightsFor(fn: Parameters<typeof parametersOf>[0]): ParameterBuffer {
  const weights = new ParameterBuffer(parametersOf(fn));
  expect([...weights.views.keys()].sort()).toEqual(
    Object.keys(given)
      .map((name) => `a/${name}`)
      .sort(),
  );
  for (const [name, values] of Object.entries(given)) (weights.view(`a/${name}`).data as Float32Array).set(values);
  return weights;
}

it("in one op, and step by step with the same pattern", async () => {
  const fn = tensorFunction(io, (p, { x, source }) => ({ y: attention(p.at("a"), x, config, { source }) }));
  const weights = weightsFor(fn);
  near((await compile(fn).run(feeds, { weights })).y, reference.y);
  const looked = await compile(fn, { taps: ["a/pattern"] }).run(feeds, { weights });
  near(looked.y, reference.y);
  near(looked["a/pattern"], reference.pattern);
});

it("with keys that were made before, and a query that goes on after others", async () => {
  const [batch, query, width] = shape;
  const last = (values: readonly number[]) =>
    Array.from({ length: batch }, (_, row) => values.slice(((row + 1) * query - 1) * width, (row + 1) * query * width)).flat();
  const one = { x: float32([batch, 1, width]), source: io.source, at: int32([batch, 1]) };
  const fn = tensorFunction(one, (root, { x, source, at }) => {
    const p = root.at("a");
    const places = { at, past: Dim.of(query - 1) };
    return { y: attention(p, x, config, { known: knownSource(p, source, config), places }) };
  });
  const at = array("int32", new Int32Array(batch).fill(query - 1), [batch, 1]);
  const fed = { x: numbers(last(reference.x), [batch, 1, width]), source: feeds.source, at };
  near((await compile(fn).run(fed, { weights: weightsFor(fn) })).y, last(reference.y));
});
