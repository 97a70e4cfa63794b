import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { EngineError } from "../../src/base/errors.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { random } from "../../src/graph/samples.ts";
import { float32, int32 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { add, concat, embedding, matmul, mul, reshape, softmax, sum } from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import type { Engine } from "../../src/runtime/session.ts";

const row = (n: number) => array("float32", new Float32Array(n).fill(1), [n]);
const total = tensorFunction({ x: float32(["n"]) }, (_, { x }) => ({ y: sum(x) }));

/** The real engine, counting. */
function counting() {
  const counts = { created: 0, released: 0 };
  const engine: Engine = {
    ...nodeEngine,
    name: "counting",
    async createSession(model, options) {
      counts.created++;
      const session = await nodeEngine.createSession(model, options);
      return {
        run: (...args) => session.run(...args),
        endProfiling: () => session.endProfiling(),
        release: async () => {
          counts.released++;
          await session.release();
        },
      };
    },
  };
  return { device: { engine }, counts };
}

describe("a compiled function", () => {
  it("makes one session for each set of sizes, keeps the most recently used, and releases the rest", async () => {
    const { device, counts } = counting();
    const f = compile(total, { device, sessions: 2 });
    for (const n of [1, 2, 1, 3, 1]) expect((await f.run({ x: row(n) })).y.data[0]).toBe(n);
    expect(counts).toEqual({ created: 3, released: 1 }); // 2 was not used for longest
    await f.run({ x: row(1) });
    expect(counts.created).toBe(3);
    await f.run({ x: row(2) });
    expect([counts.created, f.sessionCount]).toEqual([4, 2]);
    await f.release();
    expect(counts.released).toBe(4);
  });

  it("makes one session for all sizes when symbols are left open", async () => {
    const { device, counts } = counting();
    const f = compile(total, { device, symbols: "open" });
    for (const n of [1, 2, 7, 0]) expect((await f.run({ x: row(n) })).y.data[0]).toBe(n);
    expect(counts.created).toBe(1);
  });

  it("gives the same with sizes bound and open for keys that grow: past+time", async () => {
    const fn = tensorFunction({ past: float32(["past", 4]), now: float32(["time", 4]) }, (_, { past, now }) => {
      const keys = concat([past, now], 0); // [past+time, size]
      return { mixed: matmul(softmax(matmul(now, keys, { transposeB: true, scale: 0.5 })), keys) };
    });
    const [bound, open] = [compile(fn), compile(fn, { symbols: "open" })];
    for (const [past, time] of [
      [3, 2],
      [0, 1],
      [5, 1],
    ]) {
      const feeds = { past: random([past, 4], 1), now: random([time, 4], 2) };
      const [a, b] = [await bound.run(feeds), await open.run(feeds)];
      expect(a.mixed.shape).toEqual([time, 4]);
      expect(b.mixed.data).toEqual(a.mixed.data);
    }
  });

  it("understands dimensions written as text, bound and open, and solves 2*n", async () => {
    const fn = tensorFunction({ x: float32(["batch", "2*n"]) }, (_, { x }) => ({ y: reshape(x, ["batch*n", 2]) }));
    const x = array("float32", new Float32Array(12), [2, 6]);
    for (const symbols of ["bound", "open"] as const) expect((await compile(fn, { symbols }).run({ x })).y.shape).toEqual([6, 2]);
    await expect(compile(fn).run({ x: array("float32", new Float32Array(5), [1, 5]) })).rejects.toThrow(
      /its axis 1 has size 5, but 2\*n is 4/,
    );
  });

  it("reads weights in place: a change in the flat buffer is seen by the next run", async () => {
    const fn = tensorFunction({ x: float32([2]) }, (p, { x }) => ({ y: add(mul(x, p.param("a", [2])), p.param("b", [2])) }));
    const weights = new ParameterBuffer(parametersOf(fn));
    const f = compile(fn);
    weights.data.set([1, 2, 3, 4]); // a = [1, 2], b = [3, 4]
    const x = array("float32", [10, 20]);
    expect([...(await f.run({ x }, { weights })).y.data]).toEqual([13, 44]);
    weights.view("b").data.fill(0 as never);
    expect([...(await f.run({ x }, { weights })).y.data]).toEqual([10, 40]);
  });

  it("bakes weights in for inference", async () => {
    const fn = tensorFunction({ x: float32([2]) }, (p, { x }) => ({ y: mul(x, p.param("a", [2])) }));
    const weights = new ParameterBuffer(parametersOf(fn), Float32Array.of(5, 7));
    expect([...(await compile(fn, { weights }).run({ x: array("float32", [1, 2]) })).y.data]).toEqual([5, 14]);
  });

  it("knows the names of its outputs and taps, also in its types", async () => {
    const fn = tensorFunction({ x: float32([1]) }, (p, { x }) => ({ y: mul(p.tap("inner", add(x, 1)), 2) }));
    const results = await compile(fn, { taps: ["inner"] }).run({ x: array("float32", [3]) });
    // @ts-expect-error: there is no such output
    expect(results.why).toBeUndefined();
    expect([results.y.data[0], results.inner.data[0]]).toEqual([8, 4]);
  });

  it("passes on the engine's own refusal as a typed error", async () => {
    const fn = tensorFunction({ ids: int32([1]), table: float32([3, 2]) }, (_, { ids, table }) => ({ y: embedding(table, ids) }));
    const feeds = { ids: array("int32", [7]), table: random([3, 2], 1) };
    await expect(compile(fn).run(feeds)).rejects.toThrow(EngineError);
    await expect(compile(fn).run(feeds)).rejects.toThrow(/idx=7 must be within the inclusive range \[-3,2\]/);
  });

  it("cannot run a session that was released", async () => {
    const session = await nodeEngine.createSession(
      new Uint8Array((await import("../../src/onnx/emit.ts")).emitOnnx(await compile(total).graph({ n: 1 }))),
    );
    await session.release();
    await expect(session.run({ x: row(1) }, ["output y"])).rejects.toThrow(
      new EngineError("this session was released and cannot run again; create another"),
    );
  });

  it("refuses a broken model with one sentence", async () => {
    await expect(nodeEngine.createSession(Uint8Array.of(1, 2, 3))).rejects.toThrow(/^ONNX Runtime refused the model: /);
  });
});
