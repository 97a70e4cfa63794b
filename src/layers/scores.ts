import { GraphError } from "../base/errors.ts";
import type { Dim } from "../graph/dim.ts";
import { uniform } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { additiveScores } from "../ops/additive.ts";
import { add } from "../ops/arithmetic.ts";
import { tanh } from "../ops/functions.ts";
import { reshape, transpose } from "../ops/movement.ts";
import { linear, matmul } from "../ops/products.ts";
import { glorot } from "./linear.ts";

/** How a query and a key are compared. */
export const scoreKinds = ["scaled", "dot", "bilinear", "additive"] as const;
export type Score = (typeof scoreKinds)[number];

/** A tensor [batch, head, query, key, size] beyond this is refused: training keeps it for the way back. */
const largestAdditive = 1.5 * 2 ** 30;

/** The scores [batch, head, query, key] of queries and keys [batch, head, time, size]. */
export const scoresOf = layer("scores", (p, kind: Score, q: Tensor, k: Tensor, scale?: number): Tensor => {
  const [heads, size] = [q.shape[1].known, q.shape[3].known];
  switch (kind) {
    case "dot": // e = q·k
      return matmul(q, k, { transposeB: true });
    case "scaled": // e = q·k / √size, or with another scale
      return matmul(q, k, { transposeB: true, scale: scale ?? size ** -0.5 });
    case "bilinear": // e = qᵀ W k
      return matmul(matmul(q, p.param("bilinear", [heads, size, size], glorot(size, size))), k, { transposeB: true });
    case "additive": {
      // e = vᵀ tanh(W q + U k)
      refuseTooLarge(p.path, q, k);
      const side = (name: string, x: Tensor) => matmul(x, p.param(name, [heads, size, size], glorot(size, size)));
      const [batch, head, query] = q.shape;
      const key = k.shape[2];
      const queries = reshape(side("query", q), [batch, head, query, 1, size]);
      const keys = reshape(side("key", k), [batch, head, 1, key, size]);
      const v = p.param("v", [heads, 1, size, 1], uniform(1 / Math.sqrt(size)));
      return reshape(matmul(tanh(add(queries, keys)), v), [batch, head, query, key]);
    }
  }
});

/** Additive scores of one head, query after query: the largest tensor of such a model is never there as a whole. The weights are those of `scoresOf`. */
export const additiveInTurn = layer("scores", (p, q: Tensor, k: Tensor): Tensor => {
  const [batch, head, query, size] = q.shape;
  const key = k.shape[2];
  if (head.value !== 1) throw new GraphError(`at ${p.path}: additive scores are computed query after query for one head, not for ${head}`);
  const start = glorot(size.known, size.known);
  const side = (name: string, x: Tensor, shape: readonly Dim[]) =>
    linear(reshape(x, shape), reshape(p.param(name, [1, size, size], start), [size, size]));
  const queries = side("query", transpose(reshape(q, [batch, query, size]), [1, 0, 2]), [query, batch, size]);
  const keys = side("key", k, [batch, key, size]);
  const v = p.param("v", [1, 1, size, 1], uniform(1 / Math.sqrt(size.known)));
  return reshape(transpose(additiveScores(queries, keys, v), [1, 0, 2]), [batch, head, query, key]);
});

function refuseTooLarge(path: string, q: Tensor, k: Tensor): void {
  const [batch, head, query, size] = q.shape.map((dim) => dim.value);
  const key = k.shape[2].value;
  if (batch === undefined || head === undefined || query === undefined || size === undefined || key === undefined) return;
  const bytes = 4 * batch * head * query * key * size;
  if (bytes <= largestAdditive) return;
  throw new GraphError(
    `at ${path}: additive scores keep batch ${batch} · head ${head} · query ${query} · key ${key} · size ${size} numbers = ${(bytes / 2 ** 30).toFixed(1)} GiB in each layer; use a smaller batch or context, or another score`,
  );
}
