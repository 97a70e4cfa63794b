import { availableParallelism } from "node:os";
import { afterEach, describe, expect, it, vi } from "vitest";
import { usualThreads } from "../../src/node/machine.ts";

describe("threads where nobody asked for any", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("are as many as OMP_NUM_THREADS says", () => {
    for (const [text, threads] of [
      ["1", 1],
      ["3", 3],
      ["64", 64],
      ["4,2", 4], // of loops within loops
    ] as const) {
      vi.stubEnv("OMP_NUM_THREADS", text);
      expect(usualThreads()).toBe(threads);
    }
  });

  it("are all cores up to 8 without it, or where it says nothing", () => {
    for (const text of [undefined, "", "0", "many"]) {
      vi.stubEnv("OMP_NUM_THREADS", text);
      expect(usualThreads()).toBe(Math.min(8, availableParallelism()));
    }
  });

  it("are a share of the cores where a launcher started several processes here", () => {
    vi.stubEnv("OMP_NUM_THREADS", undefined);
    vi.stubEnv("OMPI_COMM_WORLD_LOCAL_SIZE", "1000");
    expect(usualThreads()).toBe(1);
    vi.stubEnv("OMP_NUM_THREADS", "2");
    expect(usualThreads()).toBe(2);
  });
});
