import { GraphError } from "../base/errors.ts";
import { Dim, product } from "../graph/dim.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, sameShape, showShape, size, tensorType } from "../graph/type.ts";
import { ids, real } from "./example.ts";
import { oneHotColumns } from "./one-hot.ts";

// Rows of a table by id, and the way back: every gradient added to its row.

/** Up to this many rows a product with one-hot vectors is faster than adding row by row. */
const oneHotLimit = 160;

const embeddingOp = defineOp<Record<string, never>>("embedding", {
  type([table, indices]) {
    if (table.shape.length !== 2) throw new GraphError(`a table has the axes [vocab, width], not ${showShape(table.shape)}`);
    if (indices.dtype !== "int32") throw new GraphError(`ids must be int32, not ${indices.dtype}`);
    return tensorType(table.dtype, [...indices.shape, table.shape[1]]);
  },
  vjp: ({ g, inputs: [table, indices] }) => [scatterRows(g, indices, table.shape[0]), undefined],
  onnx: (e, [table, indices]) => e.node("Gather", [table, indices], { axis: 0 }),
  cost: (_, [y]) => ({ flops: 0, bytes: byteSize(y).times(2) }),
  examples: (f) => [
    { inputs: [real(f, "v", "w"), ids("v", "a", "b")], attributes: {}, nonEmpty: ["v"] },
    { inputs: [real(f, "v", 3), ids("v", "a")], attributes: {}, nonEmpty: ["v"] },
  ],
});

export const isEmbedding = embeddingOp.is;

/** The rows of a table [vocab, width] at the ids, which must be from 0 to vocab − 1: a negative one would count from the end. */
export const embedding = (table: Tensor, indices: Tensor): Tensor => embeddingOp.one([table, indices], {});

const scatterRowsOp = defineOp<{ rows: Dim }>("scatterRows", {
  type([updates, indices], { rows }) {
    if (!sameShape(updates.shape.slice(0, -1), indices.shape)) {
      throw new GraphError(`the ids ${showShape(indices.shape)} do not fit the rows of ${showShape(updates.shape)}`);
    }
    return tensorType(updates.dtype, [rows, updates.shape[updates.shape.length - 1]]);
  },
  vjp: ({ g, inputs: [, indices] }) => [embedding(g, indices), undefined],
  onnx(e, [updates, indices], { inputs: [u, i], outputs: [y], attributes: { rows } }) {
    const count = product(i.shape);
    const width = y.shape[1];
    const flat = e.reshape(updates, u.shape, [count, width]);
    if (rows.value !== undefined && rows.value <= oneHotLimit) {
      const hot = oneHotColumns(e, e.reshape(indices, i.shape, [count]), rows.value, u.dtype); // [rows, count]
      return e.node("MatMul", [hot, flat]);
    }
    // ScatterND with reduction=add loses updates of repeated ids: it runs in parallel without atomics. ScatterElements does not.
    const zeros = e.node("Expand", [e.scalar(u.dtype, 0), e.dims(y.shape)]);
    const everywhere = e.node("Expand", [e.reshape(indices, i.shape, [count, Dim.of(1)]), e.dims([count, width])]);
    return e.node("ScatterElements", [zeros, everywhere, flat], { axis: 0, reduction: "add" });
  },
  cost: ([u]) => ({ flops: size(u) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b", "w"), ids(3, "a", "b")], attributes: { rows: Dim.of(3) } },
    { inputs: [real(f, "a", "w"), ids(300, "a")], attributes: { rows: Dim.of(300) } },
  ],
});

/** A table of zeros to which each row of `updates` is added at its id. */
export const scatterRows = (updates: Tensor, indices: Tensor, rows: Dim): Tensor => scatterRowsOp.one([updates, indices], { rows });
