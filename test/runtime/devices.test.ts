import { describe, expect, it } from "vitest";
import { type HostArray, isFloat } from "../../src/base/arrays.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { allOps, type Example } from "../../src/graph/op.ts";
import { bound, samples, sizeVariants } from "../../src/graph/samples.ts";
import { layer } from "../../src/graph/scope.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { bool, float32 } from "../../src/graph/type.ts";
import "../../src/entries/graph.ts";
import { compile } from "../../src/node/device.ts";
import { deviceChoices, deviceNamed, deviceNames, devices, resolved } from "../../src/node/devices.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { add, cos, mul, or, sin, sum, where } from "../../src/ops/index.ts";
import { lacking, likeWebgpu } from "../support/stand-in-devices.ts";

// What a device lacks is written otherwise with the same result, or refused by name; nothing is computed elsewhere in silence. What a real
// one makes of it is in test/journeys/devices.test.ts.

describe("what is written for WebGPU, on the processor", () => {
  const refused = ["input", "parameter", "constant", "quantisedLinear"];
  const ops = [...allOps.values()].filter((op) => !refused.includes(op.name));
  it.each(ops.map((op) => [op.name, op] as const))("%s gives the same, with sizes known and open", async (_, op) => {
    for (const [index, example] of (op.examples("float32") as readonly Example<never>[]).entries()) {
      for (const { name, sizes } of sizeVariants(example)) {
        const inputs = samples(example, sizes);
        const feeds = Object.fromEntries(inputs.map((x, i) => [`x${i}`, x]));
        const ready = bound(example, sizes);
        const types = op.type(
          ready.inputs.map(({ type }) => type),
          ready.attributes,
        );
        if ([types].flat().some((type) => "dtype" in type && type.dtype === "float64")) continue; // there are none
        const own = (given: () => Example<never>) =>
          tensorFunction(
            Object.fromEntries(given().inputs.map(({ type }, i) => [`x${i}`, type])),
            (__, tensors): Record<string, Tensor> =>
              Object.fromEntries(op.apply(Object.values(tensors), given().attributes).map((y, i) => [`y${i}`, y])),
          );
        const open = own(() => (op.examples("float32") as readonly Example<never>[])[index]);
        const plain = compile(
          own(() => ready),
          { threads: 1 },
        );
        const expected: Record<string, HostArray> = await plain.run(feeds);
        for (const [symbols, fn] of [["bound", own(() => ready)] as const, ["open", open] as const]) {
          const device = compile(fn, { device: { engine: likeWebgpu, threads: 1 }, symbols });
          const found: Record<string, HostArray> = await device.run(feeds);
          for (const [key, { dtype, shape, data }] of Object.entries(expected)) {
            expect([name, symbols, found[key].dtype, found[key].shape]).toEqual([name, symbols, dtype, shape]);
            const [a, b] = [data, found[key].data].map((x) => Array.from(x as Iterable<number | bigint>, Number));
            if (isFloat(dtype)) expect(gradientGap(a, b), `${key} with ${name}, ${symbols}`).toBeLessThanOrEqual(1e-5);
            else expect(b, `${key} with ${name}, ${symbols}`).toEqual(a);
          }
          await device.release();
        }
        await plain.release();
      }
    }
  });
});

describe("what a device lacks", () => {
  const named = layer((_, x: Tensor) => sum(mul(sin(x), cos(x))));
  const fn = tensorFunction({ x: float32(["n"]), a: bool(["n"]) }, (p, { x, a }) => ({
    y: named(p.at("wave"), where(or(a, a), x, add(x, 1))),
  }));
  const feeds = {
    x: { dtype: "float32", shape: [2], data: Float32Array.of(1, 2) },
    a: { dtype: "bool", shape: [2], data: Uint8Array.of(0, 1) },
  } as const;
  const on = (engine: typeof nodeEngine, symbols: "bound" | "open") => compile(fn, { device: { engine, threads: 1 }, symbols });

  it.each(["bound", "open"] as const)("is refused with its name, its place and the operator of ONNX, with sizes %s", async (symbols) => {
    const run = on(lacking("Sin", "Or"), symbols).run(feeds);
    await expect(run).rejects.toMatchObject({ name: "EngineError", code: "engine.elsewhere" });
    await expect(on(lacking("Sin"), symbols).run(feeds)).rejects.toThrow(
      "somewhere cannot compute sin(float32) at wave, which is Sin in ONNX; it is refused rather than computed elsewhere",
    );
    await expect(on(lacking("Sin", "Cos"), symbols).run(feeds)).rejects.toThrow(/sin\(float32\) at wave.*, nor cos\(float32\) at wave/);
  });

  it("does not matter where nothing needs it, and sizes that are open are the host's", async () => {
    const { y } = await on(lacking("Erf"), "open").run(feeds);
    expect(Number(y.data[0])).toBeCloseTo(Math.sin(2) * Math.cos(2) * 2, 5);
  });

  it("is written otherwise where there is another way", async () => {
    const engine = { ...lacking("Or"), can: likeWebgpu.can };
    expect((await on(engine, "bound").run(feeds)).y.data).toEqual((await on(nodeEngine, "bound").run(feeds)).y.data);
  });
});

describe("devices by name", () => {
  it("are told with what can be used, and why not", () => {
    const found = devices();
    expect(found.map(({ name }) => name)).toEqual(deviceNames);
    expect(found[0]).toMatchObject({ name: "cpu", usable: true, copies: expect.stringContaining("nothing") });
    expect(found[0].gflops).toBeGreaterThan(0.1);
    for (const { usable, reason, gflops } of found)
      expect([usable, reason === undefined, gflops !== undefined]).toEqual([usable, usable, usable]);
    const foreign = process.platform === "win32" ? "coreml" : "dml";
    expect(found.find(({ name }) => name === foreign)?.reason).toMatch(/^onnxruntime-node has it on (Windows|macOS); this is /);
    expect(found.filter(({ usable }) => usable).map(({ name }) => name)).toContain(resolved("auto"));
  });

  it("compute, where there is one", async () => {
    const fn = tensorFunction({ x: float32([2]) }, (_, { x }) => ({ y: add(x, 1) }));
    const x = { dtype: "float32", shape: [2], data: Float32Array.of(1, 2) } as const;
    expect([...(await compile(fn, { device: "cpu" }).run({ x })).y.data]).toEqual([2, 3]);
    const foreign = process.platform === "win32" ? "coreml" : "dml";
    await expect(compile(fn, { device: foreign }).run({ x })).rejects.toMatchObject({
      code: "engine.device",
      message: expect.stringMatching(new RegExp(`^${foreign} cannot be used here: .*; what can be is told by devices\\(\\)$`)),
    });
    expect(() => deviceNamed("tpu" as never)).toThrow(`there is no device called "tpu"; there are ${deviceChoices.join(", ")}`);
  });
});
