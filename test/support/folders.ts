// The folders of src in the order of the data's way.

export const order = [
  "base",
  "text",
  "tokens",
  "metrics",
  "batches",
  "graph",
  "ops",
  "gradients",
  "onnx",
  "runtime",
  "weights",
  "layers",
  "models",
  "trained",
  "training",
  "generation",
  "evaluation",
  "inspection",
  "cost",
  "pictures",
  "views",
  // the line
  "disk",
  "node",
  "recipes",
  "data",
  "runs",
  "library",
  "studies",
  "server",
  "bench",
  "cli",
  "entries",
];
/** The first folder that may reach the machine: node:* and the engine of Node, by whatever path. */
export const line = order.indexOf("disk");
