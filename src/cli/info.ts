import { sourceName } from "../data/source.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import { modelLoss } from "../models/any.ts";
import { openRun, paths } from "../runs/folder.ts";
import { parametersOf } from "../runtime/compile.ts";
import { countParameters, type PartCount } from "../weights/count.ts";
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
  const count = countParameters(parametersOf(modelLoss(config.model)));
  const metadata = readSafetensorsHeader(paths(folder).model)?.metadata;
  const validLoss = metadata?.get("validLoss");
  return {
    run: folder,
    task: config.task,
    model: config.model,
    ...(config.labels && { labels: config.labels }),
    parameters: count.count,
    parts: parts(count),
    tokenizer: { kind: tokenizer.kind, vocab: tokenizer.size },
    data: config.data,
    training: config.training,
    step: new Checkpoints(paths(folder).checkpoints).list().at(-1) ?? 0,
    best: metadata ? { step: Number(metadata.get("step")), validLoss: validLoss === undefined ? null : Number(validLoss) } : null,
  };
}

/** Two levels of places are enough to see where the parameters are. */
const parts = (count: PartCount): Record<string, number> =>
  Object.fromEntries(count.parts.flatMap((part) => part.parts.map((inner) => [`${part.name}/${inner.name}`, inner.count])));

const longestText = (longest: number | undefined): string =>
  longest === undefined ? "" : `; the longest of the examples to train on has ${longest.toLocaleString("en")}`;

function report({ run, task, model, labels, parameters, parts: places, tokenizer, data, training, step, best }: Facts): string {
  const settings = (values: object) =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
  const source = sourceName(data.source);
  const unit = task === "lm" ? "bytes" : "examples";
  const lines: [string, string][] = [
    ["run", run],
    ["task", labels ? `${task}, ${labels.length} labels: ${labels.slice(0, 12).join(", ")}${labels.length > 12 ? ", …" : ""}` : task],
    ["model", settings(model).replace(/^model /, "")],
    ["parameters", `${parameters.toLocaleString("en")}`],
    ...Object.entries(places).map(([name, count]): [string, string] => ["", `${count.toLocaleString("en").padStart(14)}  ${name}`]),
    ["tokenizer", `${tokenizer.kind}, ${tokenizer.vocab.toLocaleString("en")} entries`],
    ["data", `${source}: ${data.train.toLocaleString("en")} ${unit} to train on, ${data.valid.toLocaleString("en")} to validate with`],
    ["context", `${model.context.toLocaleString("en")} tokens${longestText(data.longest)}`],
    ["training", settings(training)],
    [
      "so far",
      `${step.toLocaleString("en")} of ${training.steps.toLocaleString("en")} steps${step < training.steps ? `; go on with: qkv train --resume ${run}` : ""}`,
    ],
    [
      "best",
      best === null
        ? "nothing saved yet"
        : `step ${best.step.toLocaleString("en")}${best.validLoss === null ? "" : `, validation loss ${best.validLoss.toFixed(4)}`}`,
    ],
  ];
  return lines.map(([name, text]) => `${name.padEnd(12)}${text}`).join("\n");
}
