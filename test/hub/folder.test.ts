import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { openHubFolder } from "../../src/disk/hub-folder.ts";
import { exportModel } from "../../src/library/export.ts";
import { importModel } from "../../src/library/import.ts";
import { train } from "../../src/library/train.ts";
import { open } from "../../src/library/trained.ts";
import { readSafetensors, safetensorsParts } from "../../src/weights/safetensors.ts";

// Folders of Hugging Face in and out: what is refused and how, round trips, and runs that are made of them.

const models = join(import.meta.dirname, "models");
const temporary = mkdtempSync(join(tmpdir(), "qkv-hub-"));
afterAll(() => rmSync(temporary, { recursive: true, force: true }));
let count = 0;

/** A copy of a model to be changed. */
function copyOf(name: string): string {
  const folder = join(temporary, `${name}-${count++}`);
  cpSync(join(models, name), folder, { recursive: true });
  return folder;
}

const jsonOf = (folder: string, file = "config.json"): Record<string, unknown> => JSON.parse(readFileSync(join(folder, file), "utf8"));

/** A copy with another config. */
function withConfig(name: string, changes: Record<string, unknown>): string {
  const folder = copyOf(name);
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...jsonOf(folder), ...changes }));
  return folder;
}

type Tensors = Map<string, { dtype: "float32"; shape: readonly number[]; data: Float32Array }>;

/** A copy with other tensors. */
function withTensors(name: string, change: (tensors: Tensors) => void): string {
  const folder = copyOf(name);
  const file = join(folder, "model.safetensors");
  const tensors = new Map(readSafetensors(readFileSync(file), file).tensors) as Tensors;
  change(tensors);
  writeFileSync(file, Buffer.concat(safetensorsParts(tensors, { format: "pt" })));
  return folder;
}

const opened = (folder: string) => () => openHubFolder(folder).weights(join(temporary, "weights"));
const numbers = (length: number, value = 0) => array("float32", new Float32Array(length).fill(value)) as never;

describe("a folder that does not fit", () => {
  it("tells every setting that is not understood at once", () => {
    const folder = withConfig("llama", {
      mlp_bias: true,
      hidden_act: "relu",
      brand_new_norm: "x",
      rope_parameters: { rope_type: "yarn", rope_theta: 1e4 },
    });
    expect(opened(folder)).toThrow(
      /config\.json: 4 settings are not understood for Llama.*mlp_bias is true, and false is wanted.*rope_type is "yarn", and default or linear or llama3 is wanted.*hidden_act is "relu".*brand_new_norm: "x" is not known/,
    );
  });

  it("leaves alone what changes nothing: nulls, what is switched off, and what is for training or Python", () => {
    opened(
      withConfig("llama", {
        rope_scaling: null,
        something_off: false,
        _commit_hash: "abc",
        attention_dropout: 0.1,
        torch_dtype: "bfloat16",
      }),
    )();
  });

  it("reads the keys of older files", () => {
    const { rope_parameters: _, dtype: __, ...older } = jsonOf(join(models, "llama3"));
    const scaling = { type: "llama3", factor: 4, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 16 };
    const folder = copyOf("llama3");
    writeFileSync(
      join(folder, "config.json"),
      JSON.stringify({ ...older, rope_theta: 10000, rope_scaling: scaling, torch_dtype: "bfloat16" }),
    );
    expect(openHubFolder(folder).model).toEqual(openHubFolder(join(models, "llama3")).model);
  });

  it("is refused where another family, class or packing is meant", () => {
    expect(opened(withConfig("llama", { model_type: "mamba" }))).toThrow(
      /the model_type "mamba" is not known; those that are read are llama, gpt2/,
    );
    expect(opened(withConfig("llama", { architectures: ["LlamaForQuestionAnswering"] }))).toThrow(
      /"LlamaForQuestionAnswering" is not read; of Llama there are LlamaForCausalLM/,
    );
    expect(opened(withConfig("llama", { quantization_config: { bits: 4 } }))).toThrow(/quantization_config: the weights are packed/);
    expect(opened(withConfig("opt", { word_embed_proj_dim: 8 }))).toThrow(/word_embed_proj_dim is 8/);
  });

  it("lists tensors that are missing, unexpected and of another shape together", () => {
    const folder = withTensors("llama", (tensors) => {
      tensors.delete("model.layers.0.self_attn.k_proj.weight");
      tensors.delete("lm_head.weight");
      tensors.set("model.norm.weight", numbers(5));
      tensors.set("model.layers.7.mlp.up_proj.weight", numbers(4));
    });
    expect(opened(folder)).toThrow(
      /missing \(2\): "model\.layers\.0\.self_attn\.k_proj\.weight", "lm_head\.weight"; unexpected \(1\): "model\.layers\.7\.mlp\.up_proj\.weight"; of another shape: "model\.norm\.weight" is \[5\] and not \[16\]/,
    );
  });

  it("names the tensor that has NaN", () => {
    const folder = withTensors("gpt2", (tensors) => {
      const table = tensors.get("transformer.wpe.weight");
      if (table) table.data[7] = Number.NaN;
    });
    expect(() => opened(folder)().numbers("decoder/positions/table")).toThrow(/tensor "transformer\.wpe\.weight" has NaN at number 7/);
  });

  it("is refused where its tokenizer has more ids than its table rows", () => {
    const folder = withConfig("llama", { vocab_size: 40 });
    expect(opened(folder)).toThrow(/the tokenizer has ids up to 60, and the model only 40 rows/);
  });

  it("is refused with the cure where its weights are a pickle, and never looked into", () => {
    const folder = copyOf("llama");
    renameSync(join(folder, "model.safetensors"), join(folder, "model.fp32.safetensors"));
    expect(opened(folder)).not.toThrow(); // a variant of the name
    rmSync(join(folder, "model.fp32.safetensors"));
    expect(opened(folder)).toThrow(/has no model\.safetensors; there is "gradients\.safetensors"/); // no weights, whatever else they are
    writeFileSync(join(folder, "pytorch_model.bin"), "not looked into");
    expect(opened(folder)).toThrow(
      /weights in "pytorch_model\.bin": a pickle is a program, and is not run here; .*safe_serialization=True/,
    );
  });

  it("has an index that stays in the folder and says what is there", () => {
    const index = "model.safetensors.index.json";
    const other = (change: (map: Record<string, string>) => void): string => {
      const folder = copyOf("llama3");
      const whole = jsonOf(folder, index) as { weight_map: Record<string, string> };
      change(whole.weight_map);
      writeFileSync(join(folder, index), JSON.stringify(whole));
      return folder;
    };
    for (const path of ["../secret.safetensors", "/etc/x.safetensors", "a\\b.safetensors", "sub/x.safetensors", "c:x.safetensors", "x.bin"])
      expect(
        opened(
          other((map) => {
            map["model.norm.weight"] = path;
          }),
        ),
        path,
      ).toThrow(/only the name of a \.safetensors file in the same folder is read/);
    expect(
      opened(
        other((map) => {
          map["model.norm.weight"] = "gone.safetensors";
        }),
      ),
    ).toThrow(/1 of 3 files are not there: "gone\.safetensors"/);
    expect(
      opened(
        other((map) => {
          delete map["model.norm.weight"];
        }),
      ),
    ).toThrow(/is not what model\.safetensors\.index\.json says: it has "model\.norm\.weight" beside/);
    const cut = copyOf("llama3");
    const shard = join(cut, "model-00001-of-00002.safetensors");
    writeFileSync(shard, readFileSync(shard).subarray(0, -10));
    expect(opened(cut)).toThrow(/it was cut short/);
  });
});

describe("tokens that stand around texts", () => {
  it("come from generation_config.json, then config.json, then tokenizer_config.json", () => {
    const roles = ({ tokenizer }: ReturnType<typeof openHubFolder>) => [tokenizer?.start, tokenizer?.ends, tokenizer?.frame];
    expect(roles(openHubFolder(join(models, "llama")))).toEqual([1, [0, 2], { before: [1], after: [] }]);
    const folder = copyOf("llama");
    rmSync(join(folder, "generation_config.json"));
    expect(roles(openHubFolder(folder))).toEqual([1, [0], { before: [1], after: [] }]);
    writeFileSync(join(folder, "config.json"), JSON.stringify({ ...jsonOf(folder), bos_token_id: null, eos_token_id: null }));
    writeFileSync(
      join(folder, "tokenizer_config.json"),
      JSON.stringify({ bos_token: { content: "<|stop|>" }, eos_token: "<|start|>", add_bos_token: false }),
    );
    expect(roles(openHubFolder(folder))).toEqual([2, [1], { before: [1], after: [] }]);
  });

  it("stand before a prompt once", async () => {
    await using model = open(join(models, "llama"), { warn: false });
    const [[plain], [begun]] = await model.samples(["the cat", "<|start|>the cat"], { temperature: 0, tokens: 4 });
    expect(begun.logProbability).toBeCloseTo(plain.logProbability, 6);
  });
});

describe("round trips", () => {
  /** Gemma's norms are kept less 1, and rows of OPT's positions that nothing reads are not kept. */
  const inexact = /gemma.*norm|opt.*embed_positions/;

  it.each(["gpt2", "llama", "llama3", "qwen2", "gemma2", "pythia", "phi3", "opt"])(
    "%s: import and export give the same bits",
    async (name) => {
      const [run, out] = [join(temporary, `${name}-run`), join(temporary, `${name}-out`)];
      await importModel(join(models, name), { out: run });
      await using model = open(run, { warn: false });
      await exportModel(model, { to: "hf", out, warn: false });
      const tensorsOf = (folder: string) =>
        new Map(
          readdirSync(folder)
            .filter((file) => /^model.*\.safetensors$/.test(file))
            .flatMap((file) => [...readSafetensors(readFileSync(join(folder, file)), file).tensors]),
        );
      const [before, after] = [tensorsOf(join(models, name)), tensorsOf(out)];
      expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
      for (const [tensor, { data, shape }] of before) {
        expect(after.get(tensor)?.shape).toEqual(shape);
        if (!inexact.test(`${name} ${tensor}`)) expect(after.get(tensor)?.data, tensor).toEqual(data);
      }
      for (const file of ["config.json", "generation_config.json", "tokenizer_config.json"])
        expect(jsonOf(out, file)).toEqual(jsonOf(join(models, name), file));
      const floats = (folder: string) => readFileSync(join(folder, "config.json"), "utf8").match(/"[^"]+": \d+\.0\b/g);
      expect(floats(out)).toEqual(floats(join(models, name)));
    },
  );

  it("the chat template comes back, and a run of ours is a Llama or GPT-2 that opens with the same answers", async () => {
    await using chat = open(join(models, "llama"), { warn: false });
    const out = join(temporary, "chat-out");
    await exportModel(chat, { to: "hf", out, warn: false });
    expect(readFileSync(join(out, "chat_template.jinja"), "utf8")).toBe(readFileSync(join(models, "llama", "chat_template.jinja"), "utf8"));
    for (const [name, settings] of [
      ["llama", {}],
      ["gpt2", { positions: "learned", norm: "layer", activation: "gelu" }],
    ] as const) {
      const text = join(temporary, "text.txt");
      writeFileSync(text, "the cat sat on the mat, and the hat was flat. ".repeat(40));
      const small = { width: 16, heads: 2, layers: 1, context: 16, ...settings };
      await using own = await train(text, { out: join(temporary, `own-${name}`), model: small, steps: 2, warn: false });
      const there = join(temporary, `own-${name}-hf`);
      expect((await exportModel(own, { to: "hf", out: there, warn: false })).kind).toBe(name);
      await using back = open(there, { warn: false });
      const ask = { temperature: 0, tokens: 6 };
      expect((await back.samples(["the "], ask))[0][0].text).toBe((await own.samples(["the "], ask))[0][0].text);
    }
  });

  it("says every reason why a model of ours is none of Python's", async () => {
    const text = join(temporary, "other.txt");
    writeFileSync(text, "the cat sat on the mat, and the hat was flat. ".repeat(40));
    const small = { width: 16, heads: 2, layers: 1, context: 16, positions: "alibi", norm: "layer" } as const;
    await using own = await train(text, { out: join(temporary, "own-other"), model: small, steps: 1, warn: false });
    const out = join(temporary, "own-other-hf");
    await expect(exportModel(own, { to: "hf", out, warn: false })).rejects.toThrow(
      /not like Llama: positions is alibi \(only rotary\), norm is layer \(only rms\).*not like GPT-2: positions is alibi \(only learned\)/,
    );
    expect(existsSync(out)).toBe(false);
    const mixing = { ...small, positions: "rotary", norm: "rms", layers: 2, activation: "relu2", valueResidual: true } as const;
    await using mixed = await train(text, { out: join(temporary, "own-mixed"), model: mixing, steps: 1, warn: false });
    await expect(exportModel(mixed, { to: "hf", out, warn: false })).rejects.toThrow(
      /not like Llama: valueResidual is true \(only false\), .*activation is relu2 \(only swiglu\)/,
    );
  });
});

it("training goes on from a folder, and what it makes is exported as its family", async () => {
  const text = join(temporary, "more.txt");
  writeFileSync(text, "the cat sat in the hat. ".repeat(60));
  const data = { out: join(temporary, "tuned"), from: join(models, "llama3"), steps: 3, warn: false } as const;
  await using tuned = await train(text, { ...data, model: { context: 16 } });
  expect(tuned.run.config).toMatchObject({
    task: "lm",
    hub: { family: "Llama", dtype: "BF16" },
    model: { ropeScaling: "llama3", context: 16 },
  });
  const out = join(temporary, "tuned-hf");
  await exportModel(tuned, { to: "hf", out, warn: false });
  expect(jsonOf(out)).toMatchObject({ model_type: "llama", dtype: "float32" }); // trained numbers need 32 bits
  await using back = open(out, { warn: false });
  const ask = { temperature: 0, tokens: 5 };
  expect((await back.samples(["the"], ask))[0][0].text).toBe((await tuned.samples(["the"], ask))[0][0].text);
});
