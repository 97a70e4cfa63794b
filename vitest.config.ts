import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/setup.ts"],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    pool: "forks",
    maxWorkers: 2,
    // Two files at a time on two cores: engines with two threads each would wait for each other. Tests of threads say how many they want.
    env: { OMP_NUM_THREADS: "1" },
  },
});
