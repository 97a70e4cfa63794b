import { sourceName } from "../data/source.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import { givesSeveral, modelLoss } from "../models/any.ts";
import { openRun, paths, readCalibration } from "../runs/folder.ts";
import { parametersOf } from "../runtime/compile.ts";
import { normalisationOf } from "../tokens/normaliser.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { countParameters, type PartCount } from "../weights/count.ts";
import { trainedLayout } from "../weights/freeze.ts";
import { bareCommand } from "./commands.ts";

export const info = bareCommand("info")
  .option("--json", "print one line of JSON and nothing else")
  .action((folder: string, { json }: { json?: boolean }) => {
    const facts = describe(folder);
    console.log(json ? JSON.stringify(facts) : report(facts));
  });

type Facts = ReturnType<typeof describe>;

/** Everything about a run, without its weights' numbers. */
function describe(folder: string) {
  const { config, tokenizer } = openRun(folder);
  const layout = parametersOf(modelLoss(config.model));
  const count = countParameters(layout);
  const trained = trainedLayout(layout, config.training.freeze).total;
  const metadata = readSafetensorsHeader(paths(folder).model)?.metadata;
  const validLoss = metadata?.get("validLoss");
  const calibration = readCalibration(folder);
  return {
    run: folder,
    task: config.task,
    model: config.model,
    ...(config.labels && { labels: config.labels }),
    parameters: count.count,
    ...(trained < count.count && { trained, frozen: count.count - trained }),
    parts: parts(count),
    tokenizer: { kind: tokenizer.kind, vocab: tokenizer.size, ...readsAs(tokenizer), ...(tokenizer.slow && { slow: tokenizer.slow }) },
    data: config.data,
    ...(config.from && { from: { ...config.from, newLabels: (config.labels ?? []).slice(config.from.labels ?? 0) } }),
    training: config.training,
    step: new Checkpoints(paths(folder).checkpoints).list().at(-1) ?? 0,
    ...(calibration && { calibration }),
    best: metadata ? { step: Number(metadata.get("step")), validLoss: validLoss === undefined ? null : Number(validLoss) } : null,
  };
}

const frozenWords = (trained: number | undefined, frozen: number | undefined): string =>
  trained === undefined || frozen === undefined ? "" : `: ${trained.toLocaleString("en")} trained, ${frozen.toLocaleString("en")} frozen`;

function fromWords({ run, step, sha256, newLabels }: NonNullable<Facts["from"]>): string {
  const labels = newLabels.length === 0 ? "" : `; new labels: ${newLabels.slice(0, 12).join(", ")}${newLabels.length > 12 ? ", …" : ""}`;
  return `${run}, step ${step.toLocaleString("en")} (weights ${sha256.slice(0, 12)}…)${labels}`;
}

/** How a tokenizer that was trained here changes the text before it reads it. */
function readsAs({ json, kind }: Tokenizer): { readonly lowercase?: boolean; readonly normalize?: string } {
  const found = kind === "other" || !("normalizer" in json) ? undefined : normalisationOf(json.normalizer as object | null);
  return { ...(found?.lowercase && { lowercase: true }), ...(found && found.normalize !== "none" && { normalize: found.normalize }) };
}

/** Two levels of places are enough to see where the parameters are. */
const parts = (count: PartCount): Record<string, number> =>
  Object.fromEntries(count.parts.flatMap((part) => part.parts.map((inner) => [`${part.name}/${inner.name}`, inner.count])));

const longestText = (longest: number | undefined): string =>
  longest === undefined ? "" : `; the longest of the examples to train on has ${longest.toLocaleString("en")}`;

function report({ run, task, model, labels, parameters, trained, frozen, ...rest }: Facts): string {
  const { parts: places, tokenizer, data, from, training, step, calibration, best } = rest;
  const settings = (values: object) =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
  const source = sourceName(data.source);
  const several = givesSeveral(model);
  const reads = [tokenizer.normalize, tokenizer.lowercase && "lower case"].filter(Boolean);
  const unit = task === "lm" ? "bytes" : "examples";
  const lines: [string, string][] = [
    ["run", run],
    [
      "task",
      labels
        ? `${task}, ${several ? "any number of " : ""}${labels.length} labels: ${labels.slice(0, 12).join(", ")}${labels.length > 12 ? ", …" : ""}`
        : task,
    ],
    ["model", settings(model).replace(/^model /, "")],
    ["parameters", `${parameters.toLocaleString("en")}${frozenWords(trained, frozen)}`],
    ...Object.entries(places).map(([name, count]): [string, string] => ["", `${count.toLocaleString("en").padStart(14)}  ${name}`]),
    [
      "tokenizer",
      `${tokenizer.kind}, ${tokenizer.vocab.toLocaleString("en")} entries${reads.length > 0 ? `; reads ${reads.join(", ")}` : ""}${tokenizer.slow ? `; slow, because ${tokenizer.slow}` : ""}`,
    ],
    ["data", `${source}: ${data.train.toLocaleString("en")} ${unit} to train on, ${data.valid.toLocaleString("en")} to validate with`],
    ...(from ? [["from", fromWords(from)] as [string, string]] : []),
    ["context", `${model.context.toLocaleString("en")} tokens${longestText(data.longest)}`],
    ["training", settings(training)],
    [
      "so far",
      `${step.toLocaleString("en")} of ${training.steps.toLocaleString("en")} steps${step < training.steps ? `; go on with: qkv train --resume ${run}` : ""}`,
    ],
    ...(calibration
      ? [
          [
            "calibrated",
            `temperature ${calibration.temperature.toFixed(3)}, fitted to ${calibration.examples} held-out examples: calibration error ${calibration.ece.toFixed(4)}, ${calibration.eceBefore.toFixed(4)} without`,
          ] as [string, string],
        ]
      : []),
    [
      "best",
      best === null
        ? "nothing saved yet"
        : `step ${best.step.toLocaleString("en")}${best.validLoss === null ? ", the last that was saved" : `, validation loss ${best.validLoss.toFixed(4)}`}`,
    ],
  ];
  return lines.map(([name, text]) => `${name.padEnd(12)}${text}`).join("\n");
}
