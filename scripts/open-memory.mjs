// What opening a model from outside for generation takes: node scripts/open-memory.mjs [millions of parameters] [f32|f16|bf16] [f32|q8|q4]
// Makes a random Llama of that size in a temporary folder, and writes a few tokens with it in a process of its own. The bounds are
// those of docs/open-models.md. Build first.

import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [millions = "300", dtype = "bf16", precision = "f32", folder] = process.argv.slice(2);
const library = new URL("../dist/entries/qkv.js", import.meta.url).href;

if (folder) await measure(folder);
else {
  const made = mkdtempSync(join(tmpdir(), "qkv-memory-"));
  try {
    const { parameters, table } = writeLlama(made, Number(millions) * 1e6, dtype);
    const told = execFileSync(process.execPath, [process.argv[1], millions, dtype, precision, made], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { peak, before, seconds } = JSON.parse(told);
    // Rounded, a weight has its bits and its share of a scale; the table that is looked up stays as it is, beside the rounded one that is multiplied by.
    const weights = precision === "f32" ? 4 * parameters : parameters * { q8: 1.125, q4: 0.625 }[precision] + 4 * table;
    const bound = weights * 1.15 + 200e6 + before;
    const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
    console.log(
      `${megabytes(parameters)} parameters in ${dtype}, used as ${precision}: ${megabytes(peak)} at most, of which ${megabytes(before)} before it was opened; ` +
        `the bound is ${megabytes(bound)}; ${seconds.toFixed(1)} s to the first tokens: ${peak <= bound ? "holds" : "EXCEEDED"}`,
    );
    process.exitCode = peak <= bound ? 0 : 1;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function measure(path) {
  const { open, nodeEngine } = await import(library);
  void nodeEngine;
  const before = process.memoryUsage().rss;
  const start = performance.now();
  const model = open(path, { precision, threads: 2, warn: false });
  const [[sample]] = await model.samples(["a"], { temperature: 0, tokens: 4 });
  const seconds = (performance.now() - start) / 1000;
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
  console.log(JSON.stringify({ peak, before, seconds, text: sample.text }));
}

/** A random Llama of about so many parameters, tensor by tensor. */
function writeLlama(to, wanted, kind) {
  const [width, vocab] = [1024, 32_000];
  const [heads, kvHeads, hidden] = [16, 4, 2816];
  const size = width / heads;
  const each = width * (2 * width + 2 * kvHeads * size) + 3 * width * hidden + 2 * width;
  const layers = Math.max(1, Math.round((wanted - vocab * width) / each));
  const tensors = [["model.embed_tokens.weight", [vocab, width]]];
  for (let i = 0; i < layers; i++) {
    const at = `model.layers.${i}`;
    tensors.push(
      [`${at}.input_layernorm.weight`, [width]],
      [`${at}.self_attn.q_proj.weight`, [width, width]],
      [`${at}.self_attn.k_proj.weight`, [kvHeads * size, width]],
      [`${at}.self_attn.v_proj.weight`, [kvHeads * size, width]],
      [`${at}.self_attn.o_proj.weight`, [width, width]],
      [`${at}.post_attention_layernorm.weight`, [width]],
      [`${at}.mlp.gate_proj.weight`, [hidden, width]],
      [`${at}.mlp.up_proj.weight`, [hidden, width]],
      [`${at}.mlp.down_proj.weight`, [width, hidden]],
    );
  }
  tensors.push(["model.norm.weight", [width]]);
  const bytes = kind === "f32" ? 4 : 2;
  let [offset, total] = [0, 0];
  const header = { __metadata__: { format: "pt" } };
  for (const [name, shape] of tensors) {
    const count = shape.reduce((a, b) => a * b, 1);
    header[name] = { dtype: kind.toUpperCase(), shape, data_offsets: [offset, offset + count * bytes] };
    offset += count * bytes;
    total += count;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(join(to, "model.safetensors"), "w");
  writeSync(file, length);
  writeSync(file, text);
  const piece = noise(kind, 2 ** 20);
  for (let left = offset; left > 0; left -= piece.length) writeSync(file, piece, 0, Math.min(left, piece.length));
  closeSync(file);
  const sizes = {
    hidden_size: width,
    intermediate_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
  };
  const config = {
    model_type: "llama",
    architectures: ["LlamaForCausalLM"],
    ...sizes,
    vocab_size: vocab,
    max_position_embeddings: 512,
    tie_word_embeddings: true,
  };
  writeFileSync(join(to, "config.json"), JSON.stringify(config));
  const letters = Object.fromEntries(Array.from("abcdefghijklmnopqrstuvwxyz", (letter, i) => [letter, i]));
  const model = { type: "WordLevel", vocab: { ...letters, "<unk>": 26 }, unk_token: "<unk>" };
  const tokenizer = {
    version: "1.0",
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: "WhitespaceSplit" },
    post_processor: null,
    decoder: null,
    model,
  };
  writeFileSync(join(to, "tokenizer.json"), JSON.stringify(tokenizer));
  return { parameters: total, table: vocab * width };
}

/** Numbers of about ±0.02, in so many bytes. */
function noise(kind, count) {
  const floats = Float32Array.from({ length: count / 4 }, (_, i) => 0.02 * Math.sin(i * 12.9898));
  if (kind === "f32") return Buffer.from(floats.buffer);
  const bits = new Uint32Array(floats.buffer);
  if (kind === "bf16") return Buffer.from(Uint16Array.from(bits, (value) => value >>> 16).buffer);
  return Buffer.from(Uint16Array.from(floats, (_, i) => 0x2400 + (i % 512) + (i % 2) * 0x8000).buffer);
}
