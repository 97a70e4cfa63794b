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
import { whatIs, whatWithout } from "../training/options.ts";
import { schedules } from "../training/schedule.ts";
import { deviceFlag } from "./device-flag.ts";
import { aboveZero, countFromZero, positive, scopes, share, wholeNumber } from "./values.ts";

// The flags that describe a model and its training. A flag's name in camel case is the name in config.json.

const number = (flags: string, what: string, parse: (text: string) => number) => new Option(flags, what).argParser(parse);
const choice = (flags: string, what: string, choices: readonly string[]) => new Option(flags, what).choices(choices);

export const modelFlags: readonly Option[] = [
  choice("--model <name>", whatIs("model.model"), modelNames),
  number("--layers <n>", whatIs("model.layers"), countFromZero),
  number("--heads <n>", whatIs("model.heads"), wholeNumber),
  number("--kv-heads <n>", whatIs("model.kvHeads"), wholeNumber),
  number("--width <n>", whatIs("model.width"), wholeNumber),
  number("--hidden <n>", whatIs("model.hidden"), wholeNumber),
  number("--ffn <n>", "the same as --hidden", wholeNumber),
  number("--key-size <n>", whatIs("model.keySize"), wholeNumber),
  number("--value-size <n>", whatIs("model.valueSize"), wholeNumber),
  number("--context <n>", whatIs("model.context"), wholeNumber),
  number("--dropout <share>", whatIs("model.dropout"), share),
  choice("--positions <kind>", whatIs("model.positions"), positionKinds),
  number("--rope-base <n>", whatIs("model.ropeBase"), positive),
  number("--rope-share <share>", whatIs("model.ropeShare"), positive),
  number("--rope-local-base <n>", whatIs("model.ropeLocalBase"), positive),
  choice("--rope-scaling <kind>", whatIs("model.ropeScaling"), ropeScalings),
  number("--rope-factor <n>", whatIs("model.ropeFactor"), positive),
  number("--rope-low-factor <n>", whatIs("model.ropeLowFactor"), positive),
  number("--rope-high-factor <n>", whatIs("model.ropeHighFactor"), positive),
  number("--rope-original <n>", whatIs("model.ropeOriginal"), wholeNumber),
  new Option("--relative-shared", whatIs("model.relativeShared")),
  number("--relative-buckets <n>", whatIs("model.relativeBuckets"), wholeNumber),
  number("--relative-farthest <n>", whatIs("model.relativeFarthest"), wholeNumber),
  choice("--join-positions <how>", whatIs("model.joinPositions"), positionJoins),
  choice("--norm <kind>", whatIs("model.norm"), normKinds),
  choice("--norm-place <place>", whatIs("model.normPlace"), normPlaces),
  new Option("--no-norm-affine", whatWithout("model.normAffine")),
  new Option("--no-norm-bias", whatWithout("model.normBias")),
  number("--epsilon <n>", whatIs("model.epsilon"), positive),
  choice("--parallel <how>", whatIs("model.parallel"), parallels),
  choice("--bias <which>", whatIs("model.bias"), biasKinds),
  choice("--activation <name>", whatIs("model.activation"), activations),
  new Option("--embedding-norm", whatIs("model.embeddingNorm")),
  number("--embedding-scale <n>", whatIs("model.embeddingScale"), positive),
  number("--segments <n>", whatIs("model.segments"), countFromZero),
  new Option("--no-tie", whatWithout("model.tie")),
  number("--scores-scale <n>", whatIs("model.scoresScale"), positive),
  new Option("--scores-bias", whatIs("model.scoresBias")),
  number("--scores-cap <n>", whatIs("model.scoresCap"), aboveZero),
  choice("--pool <how>", whatIs("model.pool"), pools),
  choice("--pooler <how>", whatIs("model.pooler"), poolers),
  new Option("--causal", whatIs("model.causal")),
  number("--decoder-layers <n>", whatIs("model.decoderLayers"), wholeNumber),
  number("--decoder-heads <n>", whatIs("model.decoderHeads"), wholeNumber),
  number("--decoder-hidden <n>", whatIs("model.decoderHidden"), wholeNumber),
  choice("--score <kind>", whatIs("model.score"), scoreKinds),
  number("--scale <n>", whatIs("model.scale"), positive),
  number("--score-cap <n>", whatIs("model.scoreCap"), aboveZero),
  number("--softcap <n>", "--score-cap and --scores-cap at once", aboveZero),
  new Option("--qk-norm", whatIs("model.qkNorm")),
  new Option("--no-qk-norm", whatWithout("model.qkNorm")),
  new Option("--value-residual", whatIs("model.valueResidual")),
  new Option("--no-cross-positions", whatWithout("model.crossPositions")),
  number("--window <n>", whatIs("model.window"), wholeNumber),
  number("--window-every <n>", whatIs("model.windowEvery"), wholeNumber),
  choice("--attention <kind>", whatIs("model.attention"), mixKinds),
  new Option("--no-attention", whatWithout("model.attention")),
  choice("--multi-head <kind>", whatIs("model.multiHead"), multiHeadKinds),
  choice("--mask <kind>", whatIs("model.mask"), maskPlaces),
  new Option("--no-residual", whatWithout("model.residual")),
  new Option("--no-feedforward", whatWithout("model.feedforward")),
  new Option("--zero-init", whatIs("model.zeroInit")),
  choice("--cell <kind>", whatIs("model.cell"), cells),
  new Option("--bidirectional", whatIs("model.bidirectional")),
];

export const trainingFlags: readonly Option[] = [
  number("--steps <n>", whatIs("steps"), wholeNumber),
  number("--minutes <n>", whatIs("minutes"), aboveZero),
  number("--batch <n>", whatIs("batch"), wholeNumber),
  number("--lr <rate>", whatIs("lr"), positive),
  number("--min-lr <rate>", whatIs("minLr"), positive),
  number("--warmup <steps>", whatIs("warmup"), countFromZero),
  choice("--schedule <kind>", whatIs("schedule"), schedules),
  number("--decay <share>", whatIs("decay"), share),
  choice("--optimizer <name>", whatIs("optimizer"), optimizerNames),
  number("--beta1 <n>", whatIs("beta1"), share),
  number("--beta2 <n>", whatIs("beta2"), share),
  number("--momentum <n>", whatIs("momentum"), share),
  number("--average <steps>", whatIs("average"), countFromZero),
  number("--weight-decay <n>", whatIs("weightDecay"), positive),
  new Option("--decay-all", whatIs("decayAll")),
  number("--clip <norm>", whatIs("clip"), positive),
  number("--label-smoothing <share>", whatIs("labelSmoothing"), share),
  number("--accumulate <n>", whatIs("accumulate"), wholeNumber),
  new Option("--checkpoint-blocks", whatIs("checkpointBlocks")),
  new Option("--recompute-pattern", whatIs("recomputePattern")),
  number("--seed <n>", whatIs("seed"), countFromZero),
  number("--threads <n>", whatIs("threads"), wholeNumber),
  deviceFlag(),
  number("--eval-every <steps>", whatIs("evalEvery"), wholeNumber),
  number("--eval-tokens <n>", whatIs("evalTokens"), wholeNumber),
  number("--save-every <steps>", whatIs("saveEvery"), wholeNumber),
  number("--parts-every <steps>", whatIs("partsEvery"), countFromZero),
  number("--keep <n>", whatIs("keep"), wholeNumber),
  choice("--calibrate <how>", whatIs("calibrate"), calibrations),
  number("--patience <n>", whatIs("patience"), countFromZero),
  new Option("--freeze <scopes>", whatIs("freeze")).argParser(scopes),
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
  const { ffn, softcap, ...rest } = Object.fromEntries(values);
  return { ...(ffn !== undefined && { hidden: ffn }), ...(softcap !== undefined && { scoreCap: softcap, scoresCap: softcap }), ...rest };
}

/** The names of columns that were typed. */
export const typedColumns = (command: Command): Columns =>
  Object.fromEntries(Object.entries(typed(command, columnFlags)).map(([name, value]) => [name.replace(/Column$/, ""), value]));

/** The flags of these that were typed, as they are written. */
export const typedFlags = (command: Command, flags: readonly Option[]): string[] =>
  flags.filter((flag) => command.getOptionValueSource(flag.attributeName()) === "cli").map((flag) => flag.long ?? flag.flags);
