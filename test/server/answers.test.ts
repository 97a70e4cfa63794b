import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { open } from "../../src/entries/qkv.ts";
import { jsonOf } from "../../src/views/checks.ts";
import { type ViewName, views } from "../../src/views/views.ts";
import { Workplace } from "../support/command.ts";
import { Reference } from "../support/openapi.ts";
import { chatModel, hubModel, minilm, Served, trainSmall } from "../support/serve.ts";

// Routes with one answer, which is the library's for the same text.

const place = new Workplace();
let served: Served;
let reference: Reference;

beforeAll(async () => {
  await trainSmall(place, "decoder", "translator", "classifier", "tagger");
  const models = ["decoder", "translator", "classifier", "tagger", `mlm=${hubModel("bert-mlm")}`, `marian=${hubModel("marian")}`];
  served = await Served.start(place, [...models, `chat=${chatModel}`, `minilm=${minilm(place)}`]);
  reference = await Reference.of(served);
});

async function asked<Value>(path: string, body: object, status = 200): Promise<Value> {
  const response = await served.post(path, body);
  const value = await reference.checked(path, response);
  expect(response.status, JSON.stringify(value)).toBe(status);
  return value as Value;
}
const wrong = async (path: string, body: object) =>
  (await asked<{ error: { message: string; param: string | null; code: string | null } }>(path, body, 400)).error;
const library = (folder: string) => open(folder, { threads: 1, warn: false });
const own = (name: string) => library(place.path(name));

/** The same, but for the last digits of numbers. */
function close(found: unknown, expected: unknown): void {
  const rounded = (value: unknown) =>
    JSON.parse(JSON.stringify(value, (_, x: unknown) => (typeof x === "number" && !Number.isInteger(x) ? Number(x.toFixed(4)) : x)));
  expect(rounded(found)).toEqual(rounded(expected));
}

const oneOrMany = ["i am happy today", ["i am sad", "i am happy", "zebra i am"]] as const;

describe("classify, tag, fill and translate", () => {
  it("give labels", async () => {
    for (const input of oneOrMany) {
      const { results } = await asked<{ results: unknown }>("/v1/classify", { model: "classifier", input });
      close(results, await own("classifier").classify([input].flat()));
    }
  });

  it("give tags", async () => {
    for (const input of ["the dog barks", ["the dog", "dog the 3"]]) {
      const { results } = await asked<{ results: unknown }>("/v1/tag", { model: "tagger", input });
      expect(results).toEqual(await own("tagger").tag([input].flat()));
    }
  });

  it("give words for masks", async () => {
    for (const top of [undefined, 2]) {
      const { results } = await asked<{ results: unknown }>("/v1/fill", { model: "mlm", input: ["the [MASK]", "[MASK] cat [MASK]"], top });
      close(results, await library(hubModel("bert-mlm")).fill(["the [MASK]", "[MASK] cat [MASK]"], top === undefined ? {} : { top }));
    }
    expect((await wrong("/v1/fill", { model: "mlm", input: "no mask" })).message).toContain("[MASK]");
    for (const top of [0, 101, "a"]) expect((await wrong("/v1/fill", { model: "mlm", input: "[MASK]", top })).param).toBe("top");
  });

  it("give translations, with beams or without", async () => {
    const input = ["number 3", "number 17"];
    for (const [fields, options] of [
      [{}, {}],
      [{ beams: 3 }, { beams: 3 }],
      [
        { beams: 3, length_penalty: 0.7 },
        { beams: 3, lengthPenalty: 0.7 },
      ],
    ] as const) {
      const { results } = await asked<{ results: unknown }>("/v1/translate", { model: "translator", input, ...fields });
      close(results, await own("translator").translate(input, options));
    }
    expect(await wrong("/v1/translate", { model: "translator", input, length_penalty: 1 })).toMatchObject({ param: "length_penalty" });
    const { results } = await asked<{ results: { target: string }[] }>("/v1/translate", { model: "marian", input: "the cat" });
    close(results, await library(hubModel("marian")).translate(["the cat"]));
  });

  it("warn of what they leave out, and of words that they do not know", async () => {
    const { warnings } = await asked<{ warnings?: string[] }>("/v1/classify", {
      model: "classifier",
      input: `zebra ${"i am ".repeat(20)}`,
    });
    expect(warnings?.join(" ")).toMatch(/longer than the context of 16 tokens.*not in the vocabulary/);
    expect(await asked("/v1/classify", { model: "classifier", input: "i am" })).not.toHaveProperty("warnings");
  });

  it("refuse what is no text", async () => {
    for (const [path, model] of [
      ["/v1/classify", "classifier"],
      ["/v1/tag", "tagger"],
      ["/v1/translate", "translator"],
    ]) {
      for (const input of [[], 3, null, undefined, [3], [["a"]], Array(2049).fill("a")])
        expect(await wrong(path, { model, input }), `${path} ${input}`).toMatchObject({ param: expect.stringContaining("input") });
      expect((await wrong(path, { model, input: "" })).message, path).toMatch(/text 1: there is nothing in it/);
      expect((await wrong(path, { model, input: "word ".repeat(100_000) })).code, path).toBe("context_length_exceeded");
    }
  });
});

describe("embeddings", () => {
  const { sentences, vectors } = JSON.parse(readFileSync(join(import.meta.dirname, "../hub/minilm.json"), "utf8")) as {
    sentences: string[];
    vectors: number[][];
  };

  it("of MiniLM are those of sentence-transformers", async () => {
    const input = sentences.slice(0, 4);
    const { data } = await asked<{ data: { embedding: number[] }[] }>("/v1/embeddings", { model: "minilm", input });
    for (const [i, { embedding }] of data.entries()) {
      const length = Math.hypot(...vectors[i]);
      expect(embedding.reduce((sum, value, k) => sum + (value * vectors[i][k]) / length, 0)).toBeGreaterThan(0.999);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    }
  });

  it("are pooled, scaled and written as is asked", async () => {
    const given = { model: "minilm", input: "a cat" };
    const of = async (more: object) =>
      (await asked<{ data: { embedding: number[] | string }[] }>("/v1/embeddings", { ...given, ...more })).data[0].embedding;
    const plain = (await of({ normalise: false, pool: "mean" })) as number[];
    const [expected] = await library(place.path("minilm")).embed(["a cat"], { pool: "mean", normalise: false });
    for (const [i, value] of expected.entries()) expect(plain[i]).toBeCloseTo(value, 4);
    expect(await of({ dimensions: 384, encoding_format: "base64" })).toHaveLength(4 * Math.ceil((384 * 4) / 3));
    expect(await wrong("/v1/embeddings", { ...given, dimensions: 100 })).toMatchObject({ param: "dimensions", code: "unsupported_value" });
    for (const [name, value] of Object.entries({ encoding_format: "int8", pool: "max", normalise: 1, dimensions: 0, input: [] }))
      expect(await wrong("/v1/embeddings", { ...given, [name]: value })).toMatchObject({ param: name });
    expect((await wrong("/v1/embeddings", { ...given, input: [1, 2] })).param).toMatch(/^input/);
  });

  it("come from a decoder, where its last token is asked for", async () => {
    const { data } = await asked<{ data: { embedding: number[] }[] }>("/v1/embeddings", {
      model: "decoder",
      input: "the cat",
      pool: "last",
    });
    expect(data[0].embedding).toHaveLength(16);
  });
});

describe("look", () => {
  const texts: Readonly<Record<string, string>> = {
    decoder: "the cat",
    translator: "number 3",
    classifier: "i am happy",
    tagger: "the dog",
  };
  const names = (Object.keys(views) as ViewName[]).filter((name) => name !== "loss");

  it.each(Object.keys(texts))("into a %s shows every view as the library has it, as numbers and as a picture", async (model) => {
    const run = own(model);
    const shown: string[] = [];
    for (const view of names) {
      const text = views[view].needsText ? texts[model] : "";
      const subject = { run: () => run, losses: () => [], text, options: {} };
      const made = await Promise.resolve(views[view].make(subject)).catch((error: Error) => error);
      const given = { model, view, ...(text !== "" && { text }) };
      if (made instanceof Error) {
        expect((await wrong("/v1/look", given)).message.length, view).toBeGreaterThan(10);
        continue;
      }
      shown.push(view);
      close(await asked("/v1/look", given), JSON.parse(jsonOf(made)));
      if (!made.svg) expect(await wrong("/v1/look", { ...given, format: "svg" })).toMatchObject({ param: "format" });
      else {
        const response = await served.post("/v1/look", { ...given, format: "svg" });
        expect(response.headers.get("content-type")).toBe("image/svg+xml; charset=utf-8");
        expect(await response.text()).toMatch(/^<svg [\s\S]*<\/svg>\s*$/);
      }
    }
    expect(shown.length).toBeGreaterThan(5);
  });

  it("takes what a view knows and refuses what it does not", async () => {
    const look = { model: "decoder", text: "the cat" };
    const { layers } = await asked<{ layers: { heads: unknown[] }[] }>("/v1/look", { ...look, layer: 0, head: 0, query: "c" });
    expect(layers[0].heads).toHaveLength(1);
    expect(await wrong("/v1/look", { ...look, top: 3 })).toMatchObject({ param: "top" });
    expect(await wrong("/v1/look", { ...look, view: "path" })).toMatchObject({ param: "text" });
    expect(await wrong("/v1/look", { model: "decoder" })).toMatchObject({ param: "text" });
    expect(await wrong("/v1/look", { ...look, layer: 7 })).toMatchObject({ message: expect.stringContaining("layer") });
    expect(await wrong("/v1/look", { ...look, view: "loss" })).toMatchObject({ param: "view" });
    for (const [name, value] of Object.entries({ view: "x", format: "png", kind: "x", layer: -1, head: 0.5, top: 0, text: 3 }))
      expect(await wrong("/v1/look", { ...look, [name]: value }), name).toMatchObject({ param: name });
  });
});

describe("tokenize and detokenize", () => {
  it("are each other's way back", async () => {
    for (const [model, text] of [
      ["decoder", "the cat sat"],
      ["chat", "grüße 👋 an alle"],
      ["tagger", "the dog barks"],
    ] as const) {
      const { tokens, pieces, count } = await asked<{ tokens: number[]; pieces: string[]; count: number }>("/tokenize", { model, text });
      expect([tokens.length, pieces.length]).toEqual([count, count]);
      const run = model === "chat" ? library(chatModel) : own(model);
      expect(tokens).toEqual(Array.from(run.tokenizer.encode(text)));
      expect(await asked("/detokenize", { model, tokens })).toEqual({ model, text });
    }
  });

  it("take conversations, and one of the two", async () => {
    const messages = [{ role: "user", content: "Hello" }];
    const { pieces } = await asked<{ pieces: string[] }>("/tokenize", { model: "chat", messages });
    expect(pieces.join("")).toContain("Hello".slice(-1));
    for (const body of [{}, { text: "a", messages }])
      expect((await wrong("/tokenize", { model: "chat", ...body })).message).toContain("one of the two");
    expect(await asked("/tokenize", { model: "chat", text: "" })).toMatchObject({ tokens: [], count: 0 });
    expect(await asked("/detokenize", { model: "chat", tokens: [] })).toMatchObject({ text: "" });
    expect((await wrong("/detokenize", { model: "chat", tokens: [1, 99_999] })).message).toContain(
      "the token id 99999 is not in the vocabulary",
    );
    for (const tokens of ["a", [1.5], [-1], ["1"], null])
      expect((await wrong("/detokenize", { model: "chat", tokens })).param).toMatch(/^tokens/);
  });
});
