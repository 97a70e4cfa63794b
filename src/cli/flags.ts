import { type Command, Option } from "commander";
import { maskPlaces, mixKinds } from "../layers/attention.ts";
import { normPlaces, parallels } from "../layers/block.ts";
import { activations } from "../layers/feedforward.ts";
import { biasKinds, multiHeadKinds } from "../layers/heads.ts";
import { normKinds } from "../layers/norm.ts";
import { positionJoins, positionKinds, ropeScalings } from "../layers/positions.ts";
import { cells } from "../layers/recurrent.ts";
import { scoreKinds } from "../layers/scores.ts";
import { modelNames } from "../models/any.ts";
import { poolers, pools } from "../models/config.ts";
import { calibrations } from "../runs/config.ts";
import { type Columns, roles } from "../text/columns.ts";
import { optimizerNames } from "../training/optimizers.ts";
import { schedules } from "../training/schedule.ts";
import { deviceFlag } from "./device-flag.ts";
import { countFromZero, positive, scopes, share, wholeNumber } from "./values.ts";

// The flags that describe a model and its training. A flag's name in camel case is the name in config.json.

const number = (flags: string, what: string, parse: (text: string) => number) => new Option(flags, what).argParser(parse);
const choice = (flags: string, what: string, choices: readonly string[]) => new Option(flags, what).choices(choices);

export const modelFlags: readonly Option[] = [
  choice(
    "--model <name>",
    "the architecture (default by task: lm decoder, classify, tag and mlm encoder, translate encoder-decoder)",
    modelNames,
  ),
  number("--layers <n>", "blocks on top of each other", countFromZero),
  number("--heads <n>", "heads of attention", wholeNumber),
  number("--kv-heads <n>", "heads of keys and values, each for as many heads of queries", wholeNumber),
  number("--width <n>", "numbers that describe a token between the layers", wholeNumber),
  number("--hidden <n>", "size inside the feed-forward layer (default 4 × width; 8/3 of it with a gate)", wholeNumber),
  number("--ffn <n>", "the same as --hidden", wholeNumber),
  number("--key-size <n>", "size of queries and keys in a head", wholeNumber),
  number("--value-size <n>", "size of values in a head", wholeNumber),
  number("--context <n>", "the most tokens that are seen at once", wholeNumber),
  number("--dropout <share>", "share of numbers that are dropped while training", share),
  choice("--positions <kind>", "how order is told", positionKinds),
  number("--rope-base <n>", "rotary: the base of the angles (default 10000)", positive),
  number("--rope-share <share>", "rotary: share of each head that is turned, from its front (default 1)", positive),
  number("--rope-local-base <n>", "rotary: the base in layers with a window", positive),
  choice("--rope-scaling <kind>", "rotary: how angles are stretched for a longer context", ropeScalings),
  number("--rope-factor <n>", "rotary: by how much they are stretched (default 8)", positive),
  number("--rope-low-factor <n>", "rotary, llama3: pairs with fewer turns are stretched whole (default 1)", positive),
  number("--rope-high-factor <n>", "rotary, llama3: pairs with more turns stay as they are (default 4)", positive),
  number("--rope-original <n>", "rotary, llama3: the context before it was stretched (default 8192)", wholeNumber),
  new Option("--relative-shared", "relative: one table for all layers"),
  number("--relative-buckets <n>", "relative: buckets of distances (default 32)", wholeNumber),
  number("--relative-farthest <n>", "relative: where the last bucket begins (default 128)", wholeNumber),
  choice("--join-positions <how>", "how positions join the tokens", positionJoins),
  choice("--norm <kind>", "normalisation", normKinds),
  choice("--norm-place <place>", "before each sublayer, after it, or both", normPlaces),
  new Option("--no-norm-affine", "norms without a scale and a bias of their own"),
  new Option("--no-norm-bias", "layer norms without a bias"),
  number("--epsilon <n>", "what norms add under the root (default 1e-5, for rms 1e-6)", positive),
  choice("--parallel <how>", "sublayers of a block side by side, each with a norm of its own or all with one", parallels),
  choice("--bias <which>", "which projections of a block have biases", biasKinds),
  choice("--activation <name>", "inside the feed-forward layer", activations),
  new Option("--embedding-norm", "a norm of the tokens before the first block"),
  number("--embedding-scale <n>", "multiplies tokens that are looked up", positive),
  number("--segments <n>", "rows of a table of segments, whose first is added to every token", countFromZero),
  new Option("--no-tie", "output weights of their own, not those of the embeddings"),
  number("--scores-scale <n>", "multiplies the last states before the scores of tokens", positive),
  new Option("--scores-bias", "a bias of the scores of tokens"),
  number("--scores-cap <n>", "scores of tokens go through cap · tanh(score/cap)", positive),
  choice("--pool <how>", "how an encoder gathers a text (classify)", pools),
  choice("--pooler <how>", "a layer with this function between the gathered text and its labels (classify)", poolers),
  new Option("--causal", "an encoder in which each position sees itself and what came before"),
  number("--decoder-layers <n>", "blocks of the decoder, if other than --layers (encoder-decoder)", wholeNumber),
  number("--decoder-heads <n>", "heads of the decoder, if other than --heads (encoder-decoder)", wholeNumber),
  number("--decoder-hidden <n>", "size inside the decoder's feed-forward layers (encoder-decoder)", wholeNumber),
  choice("--score <kind>", "how a query is compared with a key", scoreKinds),
  number("--scale <n>", "multiplies q·k in place of 1/√size", positive),
  number("--score-cap <n>", "scores of attention go through cap · tanh(score/cap)", positive),
  new Option("--qk-norm", "queries and keys of each head are normalised before they are compared"),
  number("--window <n>", "how many keys a query sees, itself included", wholeNumber),
  number("--window-every <n>", "every so many layers one sees everything", wholeNumber),
  choice("--attention <kind>", "how values are mixed", mixKinds),
  new Option("--no-attention", "an RNN encoder–decoder with one vector for the whole source (rnn)"),
  choice("--multi-head <kind>", "how heads are made", multiHeadKinds),
  choice("--mask <kind>", "where the causal mask is applied", maskPlaces),
  new Option("--no-residual", "leave out the residual connections"),
  new Option("--no-feedforward", "leave out the feed-forward layers"),
  choice("--cell <kind>", "the recurrent cell (rnn)", cells),
  new Option("--bidirectional", "an encoder that reads both ways (rnn)"),
];

export const trainingFlags: readonly Option[] = [
  number("--steps <n>", "steps of training", wholeNumber),
  number("--batch <n>", "windows or examples in a batch", wholeNumber),
  number("--lr <rate>", "the highest learning rate", positive),
  number("--min-lr <rate>", "where linear and cosine end (default 0)", positive),
  number("--warmup <steps>", "steps in which the rate rises", countFromZero),
  choice("--schedule <kind>", "how the rate falls after that", schedules),
  choice("--optimizer <name>", "what moves the weights", optimizerNames),
  number("--beta1 <n>", "decay of the first moment; momentum of sgd", share),
  number("--beta2 <n>", "decay of the second moment", share),
  number("--weight-decay <n>", "decay of the matrices", positive),
  new Option("--decay-all", "biases and scales decay too"),
  number("--clip <norm>", "the longest gradient; 0 for any", positive),
  number("--label-smoothing <share>", "share of the target that is spread over all tokens", share),
  number("--accumulate <n>", "batches whose gradients are added up for one step", wholeNumber),
  new Option("--checkpoint-blocks", "compute each block again for its gradients rather than keep all of it: less memory, more time"),
  number("--seed <n>", "everything random follows from it", countFromZero),
  number("--threads <n>", "threads of the engine", wholeNumber),
  deviceFlag(),
  number("--eval-every <steps>", "how often to validate (default a tenth of the steps)", wholeNumber),
  number("--save-every <steps>", "how often to save a checkpoint (default a tenth of the steps)", wholeNumber),
  number("--parts-every <steps>", "how often the log has the norms of gradient, update and weights by layer; 0 for never", countFromZero),
  number("--keep <n>", "how many checkpoints stay", wholeNumber),
  choice("--calibrate <how>", "what makes probabilities true, fitted to the held-out part (classify; default temperature)", calibrations),
  number("--patience <n>", "stop after so many validations without an improvement; 0 for never", countFromZero),
  new Option(
    "--freeze <scopes>",
    "parts that are not trained, by their places: decoder/tokens,decoder/block.0,decoder/block.*/norm",
  ).argParser(scopes),
];

export const columnFlags: readonly Option[] = roles.map(
  (name) => new Option(`--${name}-column <name>`, `the column that holds the ${name} (default "${name}")`),
);

export function addFlags(command: Command, ...lists: readonly (readonly Option[])[]): Command {
  for (const list of lists) for (const option of list) command.addOption(option);
  return command;
}

/** The values of these flags that were typed, by their names in camel case. */
export function typed(command: Command, flags: readonly Option[]): Record<string, unknown> {
  const names = new Set(flags.map((flag) => flag.attributeName()));
  const values = [...names]
    .filter((name) => command.getOptionValueSource(name) === "cli")
    .map((name) => [name, command.getOptionValue(name)]);
  const { ffn, ...rest } = Object.fromEntries(values);
  return ffn === undefined ? rest : { hidden: ffn, ...rest };
}

/** The names of columns that were typed. */
export const typedColumns = (command: Command): Columns =>
  Object.fromEntries(Object.entries(typed(command, columnFlags)).map(([name, value]) => [name.replace(/Column$/, ""), value]));

/** The flags of these that were typed, as they are written. */
export const typedFlags = (command: Command, flags: readonly Option[]): string[] =>
  flags.filter((flag) => command.getOptionValueSource(flag.attributeName()) === "cli").map((flag) => flag.long ?? flag.flags);
