import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { array } from "../base/arrays.ts";
import type { Material } from "../data/material.ts";
import { removeQuietly } from "../disk/files.ts";
import { tensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { float32 } from "../graph/type.ts";
import { matmul } from "../ops/products.ts";
import { compile } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { drive, type TrainOptions } from "./drive.ts";
import type { OpenRun } from "./folder.ts";
import type { Taken } from "./pace.ts";

// What a step takes is found out by taking some: those of the run itself, in a folder that goes again.

export interface TrialOptions {
  /** Seconds that the steps should fill, once there are some. */
  readonly seconds: number;
  /** Seconds after which few steps must do. */
  readonly most: number;
  /** Where the adapter begins, of a run that trains one. */
  readonly start?: ParameterBuffer | undefined;
}

const [fewest, fewestOfSlow] = [8, 3];
/** More than anybody waits for: the trial is broken off. */
const endless = 1e9;

/** Trains a few steps of a run. Nothing of it stays. */
export async function trial(run: Omit<OpenRun, "folder">, material: Material, options: TrainOptions & TrialOptions): Promise<Taken[]> {
  const { seconds, most, start, ...host } = options;
  const { minutes: _, partsEvery: __, ...training } = run.config.training;
  const config = { ...run.config, training: { ...training, steps: endless, evalEvery: endless, saveEvery: endless, patience: 0 } };
  const folder = mkdtempSync(join(tmpdir(), "qkv-trial-"));
  const remove = () => removeQuietly(folder);
  process.once("exit", remove); // whoever is interrupted now has nothing to save
  const taken: Taken[] = [];
  let spent = 0;
  let last = host.clock();
  try {
    const unvalidated = { ...material, validation: undefined } as Material;
    const begun = { place: () => {}, ...(start && { start }) };
    for await (const event of drive({ ...run, folder, config }, unvalidated, host, begun)) {
      host.signal?.throwIfAborted(); // while there is no run yet
      if (event.kind !== "step") continue;
      const now = host.clock();
      const own = { tokens: event.tokens, seconds: now - last }; // with what is done between steps
      last = now;
      taken.push(own);
      spent += taken.length > 1 ? own.seconds : 0; // the first makes a session
      const enough = spent >= most ? fewestOfSlow : spent >= seconds ? fewest : endless;
      if (taken.length >= enough) break;
    }
  } finally {
    remove();
    process.off("exit", remove);
  }
  return taken;
}

const side = 384;
const [repetitions, mostSeconds] = [12, 0.5];

/** Operations a second in a product of matrices, at best. */
export async function productSpeed(device: Device, clock: () => number): Promise<number> {
  const square = float32([side, side]);
  const product = compile(
    tensorFunction({ a: square, b: square }, (_, { a, b }) => ({ y: matmul(a, b) })),
    { device },
  );
  const numbers = array("float32", new Float32Array(side ** 2).fill(0.5), [side, side]);
  let [best, spent] = [Number.POSITIVE_INFINITY, 0];
  try {
    for (let i = 0; i <= repetitions && spent < mostSeconds; i++) {
      const begin = clock();
      await product.run({ a: numbers, b: numbers });
      const seconds = clock() - begin;
      if (i === 0) continue; // the first makes the session
      best = Math.min(best, seconds);
      spent += seconds;
    }
  } finally {
    await product.release();
  }
  return (2 * side ** 3) / Math.max(best, 1e-6);
}
