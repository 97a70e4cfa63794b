import { type Command, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import { type CostMeasure, measureCost } from "../bench/measured-cost.ts";
import { measuredScaling } from "../bench/scaling.ts";
import { cost, type ModelCost } from "../cost/cost.ts";
import { countedScaling } from "../cost/scaling.ts";
import { publishedTokens, trainingTotal } from "../cost/training.ts";
import { modelLoss } from "../models/any.ts";
import { nodeDevice } from "../node/device.ts";
import { freeMemory } from "../node/machine.ts";
import { roofline } from "../pictures/roofline.ts";
import { refuseTooBig } from "../runs/memory.ts";
import { refuseAgain } from "../runs/prepare.ts";
import { parametersOf } from "../runtime/compile.ts";
import { keepsOf } from "../runtime/pipeline.ts";
import { bareCommand } from "./commands.ts";
import { costFacts } from "./cost-facts.ts";
import { costModel, costModelFlags } from "./cost-model.ts";
import { checkRankFlags, type RankOptions, rankCostFlags, rankFacts, rankForm } from "./cost-ranks.ts";
import { ranksReport } from "./cost-ranks-report.ts";
import { report, scalingReport } from "./cost-report.ts";
import { addFlags, modelFlags, typedFlags } from "./flags.ts";
import { writeOutput } from "./output-file.ts";
import { pngOf } from "./png.ts";
import { aboveZero, wholeNumber } from "./values.ts";

const number = (flags: string, what: string) => new Option(flags, what).argParser(wholeNumber);

const costFlags: readonly Option[] = [
  number("--batch <n>", "sequences at once (default 1, or the run's batch; with --ranks that of qkv train)"),
  number("--length <n>", "tokens of a sequence, or of a target (default the context)"),
  new Option("--checkpoint-blocks", "count a training that computes each block again for its gradients"),
  new Option("--recompute-pattern", "count one that computes the patterns of attention again"),
  number("--source-length <n>", "tokens of a source (default the length)"),
  number("--decode <n>", "tokens that one decoded token sees, itself included (default the length)"),
  new Option(
    "--tokens <n>",
    "tokens to train on, for the whole training's FLOPs (default those of a run on a text, else GPT-3's 300e9)",
  ).argParser(aboveZero),
  new Option("--measure", "run it too, with random weights, beside the best that the engine can do"),
  number("--threads <n>", "threads of the engine, when measuring").default(2),
  new Option("--scaling", "how the steps of a layer grow with length and width; with --measure, their times too"),
  new Option("--out <file>", "a roofline picture of what was measured: .svg or .png"),
  new Option("--json", "print one line of JSON and nothing else"),
];

interface Options extends RankOptions {
  readonly batch?: number;
  readonly length?: number;
  readonly checkpointBlocks?: boolean;
  readonly recomputePattern?: boolean;
  readonly sourceLength?: number;
  readonly decode?: number;
  readonly tokens?: number;
  readonly measure?: boolean;
  readonly threads: number;
  readonly scaling?: boolean;
  readonly out?: string;
  readonly json?: boolean;
}

const form = `
With --json: {"model","parameters","optimizer","stateBytes","batch","length","sourceLength"?,"accumulate"?,"decode","flops","bytes","intensity",
"activationBytes","kvCacheBytes","parts","operations","layers","phases":{"training","sequence","token"},"lecture":{"sequence","token"},"notes",
"total"?,"published"?,"measured"?}. A phase has flops, products (the part of them in products of matrices), bytes, intensity,
activationBytes (the most that is alive at once), keptBytes (what the way back reads again), parts, operations and layers; those
at the top are of a training step. Bytes are bytes, intensities FLOPs for each byte.`;

export const costCommand = addFlags(bareCommand("cost"), costFlags, rankCostFlags, costModelFlags, modelFlags).addHelpText(
  "after",
  form + rankForm,
);

costCommand.action(async (run: string | undefined, options: Options, command: Command) => {
  checkRankFlags(options, command, flagsNamed("decode", "scaling", "out", "checkpointBlocks", "recomputePattern"));
  const out = checkedOut(options);
  if (options.ranks) return printRanks(run, { ...options, ranks: options.ranks }, command);
  if (options.scaling) return printScaling(run, options, command);
  const { config, training, preset, noise, tokens = publishedTokens } = costModel(run, command);
  const { batch = run === undefined ? 1 : training.batch, length, sourceLength, decode } = options;
  if (decode !== undefined && config.model === "encoder") throw new ConfigError("--decode: an encoder writes no tokens");
  if (options.measure) refuseTooBig(parametersOf(modelLoss(config)).total, config, { ...training, batch }, freeMemory());
  const wanted = { checkpointBlocks: options.checkpointBlocks, recomputePattern: options.recomputePattern };
  const [again] = typedFlags(command, flagsNamed("checkpointBlocks", "recomputePattern"));
  if (options.measure && again !== undefined)
    throw new ConfigError(`--measure times a step that keeps everything, so ${again} has no meaning beside it`);
  refuseAgain(config, wanted);
  const keeps = options.measure ? "everything" : keepsOf(again === undefined ? training : wanted);
  const optimizer = run === undefined ? "adamw" : training.optimizer;
  const found = await cost(config, { keeps, noise, batch, length, sourceLength, decode, optimizer, device: nodeDevice() });
  if (options.measure) console.error("measuring; a quiet machine gives the best figures …");
  const measured = options.measure ? await measureCost(found, options.threads) : undefined;
  const facts = costFacts(found, {
    total: trainingTotal(found, options.tokens ?? tokens),
    preset,
    measured,
    ...(run !== undefined && { average: training.average, accumulate: training.accumulate }),
  });
  if (out && measured) await writePicture(out, found, measured);
  console.log(options.json ? JSON.stringify(facts) : report(facts));
});

const flagsNamed = (...names: readonly string[]): Option[] => costFlags.filter((flag) => names.includes(flag.attributeName()));

async function printRanks(
  run: string | undefined,
  { tokens, measure, threads, json, ...options }: Options & { readonly ranks: readonly number[] },
  command: Command,
): Promise<void> {
  const { config, training, noise } = costModel(run, command);
  const { batch = training.batch } = options;
  const facts = await rankFacts({
    ...options,
    config,
    training,
    noise,
    batch,
    ...(tokens !== undefined && { tokens }),
    ...(measure && { threads }),
  });
  console.log(json ? JSON.stringify(facts) : ranksReport(facts));
}

function checkedOut({ out, measure, scaling }: Options): string | undefined {
  if (out === undefined) return undefined;
  if (!measure || scaling) throw new ConfigError("--out draws a roofline of what was measured; give --measure too, and no --scaling");
  if (!/\.(svg|png)$/i.test(out)) throw new ConfigError(`--out ${out}: a roofline is a .svg or a .png`);
  return out;
}

async function printScaling(run: string | undefined, { measure, threads, json }: Options, command: Command): Promise<void> {
  const sizes = flagsNamed("batch", "length", "sourceLength", "decode", "checkpointBlocks", "recomputePattern");
  const [own] = run === undefined ? typedFlags(command, [...modelFlags, ...costModelFlags, ...sizes]) : [run];
  if (own !== undefined) throw new ConfigError(`--scaling counts a layer in many sizes of its own, so ${own} has no meaning beside it`);
  const found = { counted: await countedScaling(nodeDevice()), ...(measure && { measured: await measuredScaling(threads) }) };
  console.log(json ? JSON.stringify(found) : scalingReport(found));
}

/** The phases as they ran, and where the parts of a training step would stand at best. */
async function writePicture(file: string, { model, batch, length, phases }: ModelCost, measured: CostMeasure): Promise<void> {
  const ran = Object.entries(measured.phases).map(([name, { seconds }]) => {
    const { flops = 0, bytes = 0 } = phases[name as keyof typeof phases] ?? {};
    return { name, flops, bytes, seconds };
  });
  const parts = phases.training?.parts.map(({ name, flops, bytes }) => ({ name, flops, bytes })) ?? [];
  const svg = roofline({
    peakFlops: measured.matmulFlopsPerSecond,
    peakBytes: measured.streamBytesPerSecond,
    title: `Roofline of this ${model.model}: batch ${batch}, length ${length}`,
    points: [...ran, ...parts.filter(({ flops }) => flops > 0)],
  });
  writeOutput(file, /\.png$/i.test(file) ? await pngOf(svg) : svg);
}
