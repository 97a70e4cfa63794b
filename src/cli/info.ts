import { Checkpoints } from "../disk/checkpoints.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import { modelLoss } from "../models/any.ts";
import { openRun, paths } from "../runs/folder.ts";
import { parametersOf } from "../runtime/compile.ts";
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
  return {
    run: folder,
    task: config.task,
    model: config.model,
    ...(config.labels && { labels: config.labels }),
    parameters: count.count,
    ...(trained < count.count && { trained, frozen: count.count - trained }),
    parts: parts(count),
    tokenizer: { kind: tokenizer.kind, vocab: tokenizer.size },
    data: config.data,
    ...(config.from && { from: { ...config.from, newLabels: (config.labels ?? []).slice(config.from.labels ?? 0) } }),
    training: config.training,
    step: new Checkpoints(paths(folder).checkpoints).list().at(-1) ?? 0,
    best: metadata ? { step: Number(metadata.get("step")), validLoss: validLoss === undefined ? null : Number(validLoss) } : null,
  };
}

const frozenWords = (trained: number | undefined, frozen: number | undefined): string =>
  trained === undefined || frozen === undefined ? "" : `: ${trained.toLocaleString("en")} trained, ${frozen.toLocaleString("en")} frozen`;

function fromWords({ run, step, sha256, newLabels }: NonNullable<Facts["from"]>): string {
  const labels = newLabels.length === 0 ? "" : `; new labels: ${newLabels.slice(0, 12).join(", ")}${newLabels.length > 12 ? ", …" : ""}`;
  return `${run}, step ${step.toLocaleString("en")} (weights ${sha256.slice(0, 12)}…)${labels}`;
}

/** Two levels of places are enough to see where the parameters are. */
const parts = (count: PartCount): Record<string, number> =>
  Object.fromEntries(count.parts.flatMap((part) => part.parts.map((inner) => [`${part.name}/${inner.name}`, inner.count])));

function report({ run, task, model, labels, parameters, trained, frozen, ...rest }: Facts): string {
  const { parts: places, tokenizer, data, from, training, step, best } = rest;
  const settings = (values: object) =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
  const source = data.source.kind === "recipe" ? `the recipe ${data.source.name}` : data.source.files.join(", ");
  const unit = task === "lm" ? "bytes" : "examples";
  const lines: [string, string][] = [
    ["run", run],
    ["task", labels ? `${task}, ${labels.length} labels: ${labels.slice(0, 12).join(", ")}${labels.length > 12 ? ", …" : ""}` : task],
    ["model", settings(model).replace(/^model /, "")],
    ["parameters", `${parameters.toLocaleString("en")}${frozenWords(trained, frozen)}`],
    ...Object.entries(places).map(([name, count]): [string, string] => ["", `${count.toLocaleString("en").padStart(14)}  ${name}`]),
    ["tokenizer", `${tokenizer.kind}, ${tokenizer.vocab.toLocaleString("en")} entries`],
    ["data", `${source}: ${data.train.toLocaleString("en")} ${unit} to train on, ${data.valid.toLocaleString("en")} to validate with`],
    ...(from ? [["from", fromWords(from)] as [string, string]] : []),
    ["training", settings(training)],
    [
      "so far",
      `${step.toLocaleString("en")} of ${training.steps.toLocaleString("en")} steps${step < training.steps ? `; go on with: qkv train --resume ${run}` : ""}`,
    ],
    [
      "best",
      best === null
        ? "nothing saved yet"
        : `step ${best.step.toLocaleString("en")}${best.validLoss === null ? ", the last that was saved" : `, validation loss ${best.validLoss.toFixed(4)}`}`,
    ],
  ];
  return lines.map(([name, text]) => `${name.padEnd(12)}${text}`).join("\n");
}
