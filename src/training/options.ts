import { choice, grouped, number, type Option, share, text, toggle } from "../models/option.ts";
import { modelOptions } from "../models/options.ts";
import type { DeviceChoice } from "../runtime/provider.ts";
import type { Task } from "../text/columns.ts";
import type { NormalForm } from "../tokens/normaliser.ts";
import type { TokenizerKind } from "../tokens/tokenizer.ts";
import type { OptimizerName } from "./optimizers.ts";
import type { ScheduleName } from "./schedule.ts";

// Every option of a training with what it does: the command line and the studio read them here.

type Choices<Name extends string> = Readonly<Record<Name, string>>;

const tasks: Choices<Task> = {
  lm: "a language model: it goes on with a text",
  classify: "a label, or several, for a text",
  tag: "a tag for each word of a text",
  translate: "a text becomes another: translations, pronunciations, sums",
  mlm: "words that are hidden in a text are found, as BERT is trained",
};
const tokenizers: Choices<TokenizerKind> = {
  char: "every character is a token: a small vocabulary, long texts",
  byte: "every byte is a token: nothing is unknown, in any script",
  word: "every word is a token; rare ones are unknown",
  bpe: "bytes that often stand together are merged (byte pair encoding, as in GPT)",
  wordpiece: "words are cut into pieces, the most useful first (as in BERT)",
  unigram: "pieces whose probabilities explain the texts best (SentencePiece, as in T5)",
};
const forms: Choices<NormalForm> = {
  nfc: "letters with accents as one character each",
  nfkc: "and look-alikes, such as full-width letters, as the usual ones",
  none: "as it is written",
};
const schedules: Choices<ScheduleName> = {
  constant: "stays at the highest rate",
  linear: "falls in a line to the last rate",
  cosine: "falls slowly, then fast, then slowly to the last rate",
  noam: "falls with 1/√step, as in the paper of 2017",
  wsd: "stays, and falls to the last rate in the last part of the steps",
};
const optimizers: Choices<OptimizerName> = {
  adamw: "Adam with a weight decay of its own: the usual choice elsewhere",
  adam: "each weight at its own pace, by the mean and the spread of its gradients; decay goes through the gradient",
  sgd: "against the gradient, with momentum; a third less memory, and slower for Transformers",
  muon: "matrices by their momentum with all directions made equally long, the rest by adamw: learns more in a step, which takes longer",
};
const devices: Choices<DeviceChoice> = {
  cpu: "the processor",
  cuda: "an NVIDIA card",
  webgpu: "a graphics card by WebGPU",
  dml: "a graphics card by DirectML (Windows)",
  coreml: "Apple's accelerators",
  auto: "whichever multiplies matrices fastest here",
};
const most = 1e9;

export const trainingOptions: readonly Option[] = [
  ...grouped("task", [
    [
      "task",
      choice(tasks),
      "what to learn (inferred from the data where it can be; mlm, words that are hidden in text, is only learned if it is asked for)",
      "What the model is for. Text becomes a language model; tables tell by their columns what they are for.",
      { chosen: "by the data: text is for lm, columns tell the rest" },
    ],
    [
      "validFraction",
      share,
      "share of the data to validate with, where there is no validation data (default 0.1)",
      "This part is never trained on. Its loss says whether the model learns the matter, or only the examples by heart; the best weights are chosen by it.",
      { usual: 0.1 },
    ],
    [
      "classWeights",
      text,
      "how much each label counts: balanced (the rarer the more), label=weight,…, or none",
      "Where one label is rare, a model does well by never saying it. Balanced weights make all labels count alike.",
      { tasks: ["classify", "tag"], usual: "none" },
    ],
  ]),
  ...grouped("tokenizer", [
    [
      "tokenizer",
      choice(tokenizers),
      `${Object.keys(tokenizers).join(", ")}, or a tokenizer.json`,
      "How text is cut into the tokens that the model reads and writes. It is learned from the training data and saved with the run.",
      { chosen: "by the task: lm char, classify and tag word, translate bpe, mlm wordpiece" },
    ],
    [
      "vocab",
      number(1, 1_000_000),
      "entries of the tokenizer that is trained",
      "More entries make shorter texts, and a larger table of embeddings of which rare ones learn little.",
      { chosen: "by the kind of tokenizer", needs: { tokenizer: ["word", "bpe", "wordpiece", "unigram"] } },
    ],
    [
      "lowercase",
      toggle,
      "the tokenizer that is trained reads everything in lower case",
      "Fewer words to learn, where capitals do not matter. It is saved with the tokenizer.",
      { usual: false },
    ],
    [
      "normalize",
      choice(forms),
      "the Unicode normal form that it reads (default none)",
      "The same letter can be written as one character or as two; a normal form makes them one token.",
      { usual: "none" },
    ],
  ]),
  ...grouped("schedule", [
    [
      "steps",
      number(1, most),
      "steps of training",
      "Each step reads one batch and moves all weights once. Twice the steps take twice the time; the learning rate falls over all of them.",
      { chosen: "2000 for lm, mlm and translate, 1000 for classify and tag" },
    ],
    [
      "minutes",
      number(0.01, 100_000, false),
      "the time that all of it may take: sizes and steps that are not given are chosen for it and for the data",
      "Instead of steps: a rule chooses layers, width, context, dropout and batch for the data and the time, and a short trial the steps. What is given stays as it is.",
      { chosen: "no time; the steps say how long" },
    ],
    [
      "batch",
      number(1, 1_000_000),
      "windows or examples in a batch",
      "How many are read for one step. Larger batches have steadier gradients, take more memory and fewer of them are needed.",
      { chosen: "6 windows for lm, 16 for mlm, 32 examples" },
    ],
    [
      "accumulate",
      number(1, 10_000),
      "batches whose gradients are added up for one step",
      "As if the batch were so many times larger, in the memory of one.",
      { usual: 1 },
    ],
    [
      "lr",
      number(0, 1e6, false),
      "the highest learning rate",
      "How far each step moves the weights. Too high, and the loss jumps or becomes NaN; too low, and it hardly falls.",
      { chosen: "by the task and the optimizer, 1e-3 to 4e-3 for a width of up to 128, and less for wider models" },
    ],
    [
      "minLr",
      number(0, 1e6, false),
      "where linear, cosine and wsd end (default 0)",
      "The rate of the last step.",
      { usual: 0, needs: { schedule: ["linear", "cosine", "wsd"] } },
    ],
    [
      "warmup",
      number(0, most),
      "steps in which the rate rises",
      "The first gradients are wild, and Adam does not know them yet: the rate rises from 0 in so many steps.",
      { chosen: "a tenth of the steps, at most 100" },
    ],
    [
      "schedule",
      choice(schedules),
      "how the rate falls after that",
      "Large steps find the region, small ones the place in it.",
      { usual: "linear" },
    ],
    [
      "decay",
      share,
      "the share of the steps in which wsd falls (default 0.2)",
      "Until then the rate stays, so a run can be made longer later; most of the loss is won in this last part.",
      { usual: 0.2, needs: { schedule: ["wsd"] } },
    ],
    [
      "patience",
      number(0, most),
      "stop after so many validations without an improvement; 0 for never",
      "Training ends by itself when the validation loss gets no better. The best weights are kept either way.",
      { usual: 0 },
    ],
    [
      "seed",
      number(0, Number.MAX_SAFE_INTEGER),
      "everything random follows from it",
      "First weights, order of the data, dropout: the same seed gives the same run, to the bit.",
      { usual: 1 },
    ],
  ]),
  ...grouped("optimizer", [
    [
      "optimizer",
      choice(optimizers),
      "what moves the weights",
      "How a gradient becomes a change of the weights.",
      {
        chosen:
          "muon for a language model or a translator whose steps read at least four times as many tokens as it is wide, adamw elsewhere",
      },
    ],
    [
      "beta1",
      share,
      "decay of the first moment; momentum of sgd",
      "How long a gradient is remembered in the mean that is followed: 0.9 is about 10 steps.",
      { usual: 0.9 },
    ],
    [
      "beta2",
      share,
      "decay of the second moment",
      "How long a gradient counts in the spread that each weight's step is divided by: 0.99 is about 100 steps.",
      { usual: 0.99, needs: { optimizer: ["adam", "adamw", "muon"] } },
    ],
    [
      "momentum",
      share,
      "how long muon remembers the gradients of matrices (default 0.95)",
      "0.95 is about 20 steps. What is no matrix has the two moments of adamw.",
      { usual: 0.95, needs: { optimizer: ["muon"] } },
    ],
    [
      "average",
      number(0, most),
      "validate and ship the mean of the weights over about so many steps; 0 for the weights themselves",
      "Weights jump about while the rate is high, and their mean lies in the middle. Training goes on from the weights themselves. Where the rate falls to 0, it has little to add.",
      { usual: 0 },
    ],
    [
      "clip",
      number(0, 1e6, false),
      "the longest gradient; 0 for any",
      "A longer gradient is shortened to this, so that one odd batch cannot throw the weights far away.",
      { usual: 1 },
    ],
  ]),
  ...grouped("restraint", [
    [
      "weightDecay",
      number(0, 1e6, false),
      "decay of the matrices",
      "All weights shrink a little in every step, so only those that are needed stay large.",
      { usual: 0.1 },
    ],
    [
      "decayAll",
      toggle,
      "biases and scales decay too",
      "Usually only matrices do: a scale of a norm has no reason to become 0.",
      { usual: false },
    ],
    [
      "labelSmoothing",
      share,
      "share of the target that is spread over all tokens",
      "The model is not asked to be quite sure, which makes translations better and probabilities milder.",
      { chosen: "0.1 for translate, else 0" },
    ],
    [
      "calibrate",
      choice({ temperature: "one temperature for all scores, fitted to the held-out part", none: "as they come out of training" }),
      "what makes probabilities true, fitted to the held-out part (classify; default temperature)",
      "A classifier is usually surer than it is right. A temperature makes 80 % mean that 80 of 100 are right, and changes no answer.",
      { tasks: ["classify"], usual: "temperature" },
    ],
  ]),
  ...grouped("start", [
    [
      "from",
      text,
      "go on from the weights of a run, a folder of Hugging Face or a .gguf file, with its tokenizer and its model",
      "The weights of another model are the start: what it knows need not be learned again. Its tokenizer and its model are those of the new run.",
      { chosen: "weights drawn from the seed" },
    ],
    [
      "freeze",
      text,
      "parts that are not trained, by their places: decoder/tokens,decoder/block.0,decoder/block.*/norm",
      "These stay as they are, which saves their gradients and what the optimizer remembers of them.",
      { chosen: "nothing is frozen" },
    ],
    [
      "lora.rank",
      number(1, 65_536),
      "train an adapter of this rank beside the weights of another model, which stay as they are",
      "LoRA: beside some matrices two thin ones are learned, whose product is added. Little memory, and a file of a few megabytes.",
      { chosen: "no adapter" },
    ],
    [
      "lora.alpha",
      number(0, 1e6, false),
      "what is learned counts alpha/rank times (default twice the rank)",
      "How strongly an adapter acts.",
      { chosen: "twice the rank" },
    ],
    [
      "lora.dropout",
      share,
      "share of an adapter's inputs that are dropped while training (default 0)",
      "Keeps an adapter from learning little data by heart.",
      { usual: 0 },
    ],
    [
      "lora.targets",
      text,
      "the matrices that get an adapter: q,k,v,out,gate,expand,contract …, or all (default q,v)",
      "Adapters beside all matrices learn more and cost more.",
      { usual: "q,v" },
    ],
  ]),
  ...grouped("watching", [
    [
      "evalEvery",
      number(1, most),
      "how often to validate (default a tenth of the steps)",
      "After so many steps the loss on the held-out part is measured. The weights with the lowest are the run's.",
      { chosen: "a tenth of the steps" },
    ],
    [
      "evalTokens",
      number(1, most),
      "how many held-out tokens each validation scores (default by the run's length: 1 % of its arithmetic); at the end all count, up to 65,536",
      "Fewer take less time and tell a little less. The loss of the weights that are kept is measured over all of them at the end.",
      { chosen: "by the length of the training" },
    ],
    [
      "saveEvery",
      number(1, most),
      "how often to save a checkpoint (default a tenth of the steps)",
      "From a checkpoint training goes on exactly, and the model can be opened as it was then.",
      { chosen: "a tenth of the steps" },
    ],
    [
      "keep",
      number(1, 10_000),
      "how many checkpoints stay",
      "Older ones are removed. Keep more to look back at how a model learned; each takes three times the size of its weights.",
      { usual: 2 },
    ],
    [
      "partsEvery",
      number(0, most),
      "how often the log has the norms of gradient, update and weights by layer; 0 for never",
      "Shows which layers learn, and how fast: an update of about a thousandth of the weights is healthy. It changes nothing that is computed.",
      { usual: 0 },
    ],
  ]),
  ...grouped("machine", [
    [
      "device",
      choice(devices),
      "what computes: cpu, or another device of this machine; auto for the fastest",
      "What computes. The run remembers it, since the last bits of a number depend on it.",
      { chosen: "the processor; in a page, what it has" },
    ],
    [
      "threads",
      number(1, 1024),
      "threads of the engine",
      "How many cores work at the same time; more than there are make it slower.",
      { chosen: "by the cores of the machine" },
    ],
    [
      "checkpointBlocks",
      toggle,
      "compute each block again for its gradients rather than keep all of it: less memory, more time",
      "For models whose activations do not fit into memory: about a third more arithmetic.",
      { models: ["decoder", "encoder", "encoder-decoder"], usual: false },
    ],
    [
      "recomputePattern",
      toggle,
      "compute the patterns of attention again for their gradients rather than keep them: less memory for long texts, the same numbers",
      "For long contexts: a pattern has as many numbers as there are pairs of positions, in every head and layer. It costs one product more. Patterns of 16 MiB and more are computed again anyway.",
      { models: ["decoder", "encoder", "encoder-decoder"], usual: false },
    ],
  ]),
];

/** All of them. */
export const options: readonly Option[] = [...trainingOptions, ...modelOptions];

const byName = new Map(options.map((option) => [option.name, option]).reverse() as [string, Option][]); // of two of one name, the first

/** What an option is, in a few words. */
export function whatIs(name: string): string {
  const found = byName.get(name);
  if (!found) throw new RangeError(`there is no option ${name}`);
  return found.what;
}

/** Of a switch that is usually on: what leaving it out means. */
export function whatWithout(name: string): string {
  const found = options.find((option) => option.name === name && option.without !== undefined);
  if (found?.without === undefined) throw new RangeError(`there is no option ${name} to be left out`);
  return found.without;
}
