import { array } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { grad } from "../gradients/grad.ts";
import { tensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type Tensor, topological } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import { compile } from "../node/device.ts";
import { isEmbedding } from "../ops/lookup.ts";

// How far back a language model's loss reaches: ‖∂ loss at the last position / ∂ the embedding k positions before‖, by k.

/** Tokens in a row, and the one that comes after them. All windows are equally long. */
export interface Window {
  readonly ids: Int32Array;
  readonly next: number;
}

export interface Reach {
  /** The mean norm of the gradient, by distance; 0 is the last position itself. */
  readonly norms: readonly number[];
  /** The likeliest next token of each window. */
  readonly answers: readonly number[];
}

const rowsAtOnce = 50;

/** The gradient with respect to every embedded token, beside the scores. */
const reaching = (model: ModelConfig) =>
  tensorFunction({ ids: int32(["batch", "time"]), targets: int32(["batch", "time"]) }, (p, inputs) => {
    const { loss, scores } = modelLoss(model, { training: false }).build(p, inputs);
    return { gradient: grad(loss, [embeddedIn(loss, inputs.ids)])[0], scores };
  });

/** The tensor that looks the ids up: [batch, time, width]. */
function embeddedIn(loss: Tensor, ids: Tensor): Tensor {
  const found = topological([loss]).find((node) => isEmbedding(node) && node.inputs[1] === ids);
  if (!found) throw new GraphError("this model does not look its tokens up in a table, so there is no embedding to differentiate by");
  return found.outputs[0];
}

export async function reachOf(
  model: ModelConfig,
  weights: ParameterBuffer,
  windows: readonly Window[],
  threads: number | undefined,
): Promise<Reach> {
  const time = windows[0]?.ids.length ?? 0;
  const sums = new Array<number>(time).fill(0);
  const answers: number[] = [];
  const run = compile(reaching(model), { threads });
  try {
    for (let first = 0; first < windows.length; first += rowsAtOnce) {
      const rows = windows.slice(first, first + rowsAtOnce);
      const { gradient, scores } = await run.run(feedsOf(rows, time), { weights });
      for (const [row] of rows.entries()) {
        for (let k = 0; k < time; k++) sums[k] += rows.length * norm(rowOf(gradient.data, row, time - 1 - k, gradient.shape)); // the loss is a mean over rows
        const last = rowOf(scores.data, row, time - 1, scores.shape);
        answers.push(last.indexOf(Math.max(...last)));
      }
    }
  } finally {
    await run.release();
  }
  return { norms: sums.map((sum) => sum / windows.length), answers };
}

/** Only what comes after the last position counts. */
function feedsOf(rows: readonly Window[], time: number) {
  const [ids, targets] = [new Int32Array(rows.length * time), new Int32Array(rows.length * time).fill(-1)];
  for (const [row, window] of rows.entries()) {
    ids.set(window.ids, row * time);
    targets[(row + 1) * time - 1] = window.next;
  }
  const shape = [rows.length, time];
  return { ids: array("int32", ids, shape), targets: array("int32", targets, shape) };
}

/** The numbers at [row, place] of [rows, time, size]. */
function rowOf(data: unknown, row: number, place: number, [, time, size]: readonly number[]): number[] {
  const at = (row * time + place) * size;
  return Array.from((data as Float32Array).subarray(at, at + size));
}

const norm = (numbers: readonly number[]): number => Math.hypot(...numbers);
