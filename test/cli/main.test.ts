import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const main = join(import.meta.dirname, "../../dist/cli/main.js");
const qkv = (...args: string[]) => spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });

describe("qkv", () => {
  it("helps", () => {
    const { status, stdout } = qkv("--help");
    expect([status, stdout.startsWith("Usage: qkv")]).toEqual([0, true]);
    expect(qkv("bench", "train", "--help").stdout).toContain("--threads <n>");
  });

  it.each<[string, string[], string]>([
    ["an unknown command", ["trian"], "unknown command 'trian'"],
    ["an unknown flag", ["bench", "train", "--thread", "2"], "unknown option '--thread'"],
    ["a wrong value", ["bench", "train", "--threads", "two"], "a whole number from 1 on is wanted"],
    ["an unknown bench", ["bench", "decoed"], "Allowed choices are train"],
    ["rounds of another bench", ["bench", "decode", "--rounds", "2"], "--rounds is for the training bench"],
    ["an unknown workload", ["bench", "train", "--only", "W9"], "Allowed choices are W1, W2, W3, W4"],
  ])("exits with 2 and one sentence for %s", (_, args, sentence) => {
    const { status, stdout, stderr } = qkv(...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toMatch(/ at .*:\d+:\d+/); // no stack trace
  });

  it("prints one line of JSON for a bench, in the promised form", () => {
    const { status, stdout } = qkv("bench", "train", "--only", "W1", "--rounds", "2", "--threads", "1", "--json");
    expect(status).toBe(0);
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    const result = JSON.parse(stdout);
    expect(result.matmul.gflops).toBeGreaterThan(0);
    const [w1] = result.workloads;
    expect(w1.name).toBe("W1");
    for (const key of ["msPerStep", "medianMsPerStep", "tokensPerSecond", "gflops", "fraction", "peakMemoryBytes"])
      expect(w1[key], key).toBeGreaterThan(0);
    expect(w1.fraction).toBeCloseTo(w1.gflops / result.matmul.gflops, 6);
    expect(w1.gflops).toBeCloseTo((768 * (6 * 809_856 + 12 * 4 * 128 * 64)) / w1.msPerStep / 1e6, 6);
    expect(w1.lastLoss).toBeLessThan(w1.firstLoss);
  });

  it("prints one line of JSON for the decoding of a small model, in the promised form", () => {
    const { status, stdout } = qkv("bench", "decode", "--preset", "w1", "--threads", "1", "--json");
    expect([status, stdout.split("\n").length]).toEqual([0, 2]);
    const { floor, single, prefill, batch8, q4, peakMemoryBytes } = JSON.parse(stdout);
    for (const one of [single.context128, single.context1000])
      expect(one.fraction).toBeCloseTo((floor.msPerToken * one.tokensPerSecond) / 1000, 9);
    for (const one of [batch8, q4]) expect(one.speedup).toBeCloseTo(one.tokensPerSecond / single.context128.tokensPerSecond, 9);
    expect(prefill.tokensPerSecond).toBeGreaterThan(0);
    expect(peakMemoryBytes).toBeGreaterThan(30e6);
  });
});
