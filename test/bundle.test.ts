import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createContext, Script } from "node:vm";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { line, order } from "./support/folders.ts";

// What is above the line, bundled for a browser and run where there is no process, no require and no node: a model is built,
// differentiated and emitted there, and a small text is tokenised, batched and drawn.

const root = join(import.meta.dirname, "../src");
const above = order
  .slice(0, line)
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".as.ts"));

/** Imports all of it, and does something with it. */
const program = `
  ${above.map((file, i) => `import * as all${i} from "./${file}";`).join("\n")}
  import { chance } from "./base/chance.ts";
  import { pause } from "./base/turns.ts";
  import { grad } from "./gradients/grad.ts";
  import { cleanUp } from "./graph/cleanup.ts";
  import { buildGraph, graphNodes } from "./graph/graph.ts";
  import { parameterLayout } from "./graph/parameters.ts";
  import { decoderLoss } from "./models/decoder.ts";
  import { rnnLoss } from "./models/rnn.ts";
  import { encoderLoss } from "./models/encoder.ts";
  import { encoderDecoderLoss } from "./models/encoder-decoder.ts";
  import { emitOnnx } from "./onnx/emit.ts";
  import { flattenRows } from "./ops/flatten.ts";
  import { attentionMap } from "./pictures/attention-map.ts";
  import { parseExamples } from "./text/parse-examples.ts";
  import { trainTokenizer } from "./tokens/index.ts";
  import { trainingWindows } from "./batches/windows.ts";
  import { idsInMemory } from "./batches/ids.ts";
  import { AdamW } from "./training/adam.ts";
  import { initialise } from "./weights/initialise.ts";

  const emitted = (loss, bind) => {
    const graph = buildGraph(loss, { bind });
    const parameters = [...graph.parameters.values()];
    const gradients = grad(graph.outputs.get("loss"), parameters).map((g, i) => ["gradient " + i, g]);
    const whole = cleanUp(flattenRows(cleanUp({ ...graph, outputs: new Map([...graph.outputs, ...gradients]) })));
    const layout = parameterLayout(graph);
    const optimizer = new AdamW(layout);
    initialise(layout, chance(1), optimizer.weights);
    return { bytes: emitOnnx(whole).length, nodes: graphNodes(whole).length, numbers: layout.total };
  };
  globalThis.modules = ${above.length};
  globalThis.found = (async () => {
    await pause();
    const tokenizer = await trainTokenizer("char", ["a bit of text"]);
    const ids = idsInMemory(tokenizer.encode("a bit of text ".repeat(20)));
    const sizes = { layers: 1, heads: 2, width: 16, context: 8, vocab: tokenizer.size };
    const pairs = { batch: 2, time: 8, sourceTime: 8 };
    return {
      decoder: emitted(decoderLoss(sizes), { batch: 2, time: 8 }),
      encoder: emitted(encoderLoss({ ...sizes, labels: 3 }), { batch: 2, time: 8 }),
      "encoder-decoder": emitted(encoderDecoderLoss(sizes), pairs),
      rnn: emitted(rnnLoss({ width: 16, vocab: tokenizer.size }), pairs),
      batch: trainingWindows(ids, { batch: 2, context: 8 }, chance(1)).batch(0).tokens,
      examples: ["csv", "tsv", "jsonl"].map((format) => {
        const text = { csv: 'text,label\\n"a, b",c\\n', tsv: "text\\tlabel\\na, b\\tc\\n", jsonl: '{"text":"a, b","label":"c"}' }[format];
        return parseExamples(text, format, "x." + format).examples[0].text;
      }).join(";"),
      picture: attentionMap({ tokens: ["a", "b"], targetTokens: ["a", "b"], pattern: [[1, 0], [0.5, 0.5]] }).slice(0, 4),
    };
  })();
`;

it("what is above the line runs without a machine, up to building, differentiating and emitting a model", async () => {
  const { outputFiles, warnings } = await build({
    stdin: { contents: program, resolveDir: root, loader: "ts" },
    bundle: true,
    platform: "browser",
    format: "iife",
    target: "es2022",
    write: false,
    logLevel: "silent",
  });
  expect(warnings).toEqual([]);
  const [{ text }] = outputFiles;
  expect(text).not.toMatch(/["']node:|\brequire\(["']/);
  // All that a web worker has and we use; nothing of Node.
  const globals = { TextEncoder, TextDecoder, WebAssembly, atob, performance, MessageChannel, AbortController, URL, structuredClone };
  const context = createContext({ ...globals });
  new Script(text).runInContext(context);
  expect(context.modules).toBeGreaterThan(150);
  expect(new Script("typeof process + typeof require + typeof Buffer").runInContext(context)).toBe("undefinedundefinedundefined");
  const found = await context.found;
  for (const model of ["decoder", "encoder", "encoder-decoder", "rnn"]) {
    expect(found[model].bytes, model).toBeGreaterThan(5000);
    expect(found[model].nodes, model).toBeGreaterThan(50);
  }
  expect([found.batch, found.examples, found.picture]).toEqual([16, "a, b;a, b;a, b", "<svg"]);
});
