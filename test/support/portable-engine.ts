import { fromBinary } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { anyRuntime } from "../../src/graph/target.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { ModelProtoSchema } from "../../src/onnx/onnx_pb.ts";
import type { Engine } from "../../src/runtime/session.ts";

/** The domains that a model uses, in its nodes and in what it says that it needs. */
export function domainsOf(model: Uint8Array): string[] {
  const { graph, opsetImport } = fromBinary(ModelProtoSchema, model);
  return [...new Set([...opsetImport, ...(graph?.node ?? [])].map(({ domain }) => domain))];
}

/** The real engine, which says that it can do nothing special, and is given nothing special. */
export const portableEngine: Engine = {
  ...anyRuntime,
  createSession(model, options) {
    expect(domainsOf(model)).toEqual([""]);
    return nodeEngine.createSession(model, options);
  },
};
