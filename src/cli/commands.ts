import { Command } from "commander";

// What `qkv --help` tells of the commands. Each has its flags and its work in a file of its own, which is loaded when it is called.

interface Entry {
  /** Its arguments, and what each is. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly summary: string;
}

const run = { "<run>": "the run folder, a folder of Hugging Face or a .gguf file" };

const commands = {
  train: {
    arguments: { "[data...]": "files to train on; without any, a recipe" },
    summary:
      "train a model on .txt (language modelling; --task mlm for hidden words), or on .tsv, .csv or .jsonl with columns text,label or text,labels (classify), text,tags (tag), source,target (translate), or prompt,completion or messages (language models that learn answers)",
  },
  info: {
    arguments: { "[run]": run["<run>"] },
    summary: "what a run is: architecture, parameters, tokenizer, data, training so far; or, with --devices, what can compute here",
  },
  eval: {
    arguments: { ...run, "[data...]": "files to evaluate on" },
    summary: "how good a trained model is: on data of your own, or on the part of its data that was held out",
  },
  generate: {
    arguments: { ...run, "[prompt]": "what to go on with; without one, the lines of standard input, or a text from its beginning" },
    summary: "goes on with a text, or answers a source",
  },
  classify: {
    arguments: { ...run, "[text...]": "texts; without any, the lines of standard input" },
    summary: "the label of each text, or of each row of a file, and how sure the model is",
  },
  tag: {
    arguments: { ...run, "[text...]": "texts; without any, the lines of standard input" },
    summary: "a tag for each word of each text (or each character, as the model was trained)",
  },
  translate: {
    arguments: { ...run, "[text...]": "sources; without any, the lines of standard input" },
    summary: "the target of each source text",
  },
  embed: {
    arguments: { ...run, "[text...]": "texts; without any, the lines of standard input" },
    summary: "the vector of each text: what an encoder (MiniLM, BERT) makes of it, for search and comparison",
  },
  fill: {
    arguments: { ...run, "[text...]": "texts with a mask, such as [MASK]; without any, the lines of standard input" },
    summary: "the likeliest words where a text has a mask, from a model that was trained on hidden words",
  },
  look: {
    arguments: { ...run, "[text]": "the text to look at (not for the views positions, path and loss)" },
    summary: "look inside a model: where its attention goes for a text, as a picture",
  },
  cost: {
    arguments: { "[run]": "a run folder; without one, a model from --preset and the flags below" },
    summary:
      "parameters, FLOPs, bytes moved, arithmetic intensity, activation memory and KV-cache, by operation, layer and part, read off the graph that runs; with --ranks, what training on many hosts is expected to take",
  },
  export: {
    arguments: run,
    summary: "writes a trained model for others to run: Python's transformers, transformers.js, ONNX Runtime, llama.cpp",
  },
  merge: {
    arguments: { "<run>": "a run that was trained with --lora; or, with --adapter, the model that the adapter is for" },
    summary: "puts an adapter into its base: a model with whole weights",
  },
  pull: {
    arguments: { "<model>": "owner/name on the hub" },
    summary: "downloads a model from the hub or a mirror: config, tokenizer and weights; stopped, the same command goes on",
  },
  import: {
    arguments: { "<folder>": "a folder of Hugging Face" },
    summary: "a run of somebody else's model; every command also takes the folder itself",
  },
  serve: {
    arguments: {
      "<model...>": "runs, folders of Hugging Face or .gguf files, each with a name of its own if it is to have one: chat=runs/my-chat",
    },
    summary: "models behind HTTP: OpenAI's API and more, many streams at once",
  },
  studio: {
    arguments: { "[folder]": "the folder of runs; runs if left out. What the studio keeps for itself is in its .studio" },
    summary: "the studio, in your browser: see models learn, look inside them, ask them, compare them",
  },
  recipes: {
    arguments: { "[name]": "one of them, with its settings" },
    summary: "the ready recipes, what each teaches and the result it reaches",
  },
  study: {
    arguments: { "[name]": "which; without a name, all are listed" },
    summary: "comparisons of the lectures: several models, trained and measured alike; what is done already is not done again",
  },
  bench: {
    arguments: {
      "[name]":
        "train: whole training steps (forward, backward, AdamW with clipping), beside the best MatMul; decode: generation, beside products with the same weights",
    },
    summary: "speed on this machine, as ratios to what the same engine can do at best",
  },
  check: {
    arguments: {},
    summary: "whether a device computes what the processor computes: every operation and its gradient, training, generation",
  },
} as const satisfies Readonly<Record<string, Entry>>;

export type CommandName = keyof typeof commands;
export const commandNames = Object.keys(commands) as CommandName[];

/** A command without its flags and its work: enough for the list of all. */
export function bareCommand(name: CommandName): Command {
  const { arguments: given, summary } = commands[name];
  const bare = new Command(name).description(summary);
  for (const [argument, what] of Object.entries(given)) bare.argument(argument, what);
  return bare;
}
