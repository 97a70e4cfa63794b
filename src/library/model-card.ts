import { basename } from "node:path";
import { sourceName } from "../data/source.ts";
import { described, modelLoss } from "../models/any.ts";
import type { RunConfig } from "../runs/config.ts";
import { bestIn } from "../runs/log.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { ExportWeights, Shipped, Usage } from "./exporter.ts";

// README.md of an export: what the model is, what it was trained on and how well it did, and how it is used. A pure function.

/** What is known of the training. */
export interface CardRun {
  readonly config: RunConfig;
  /** The lines of its log. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
}

export interface CardFacts {
  readonly trained: TrainedModel;
  readonly name: string;
  readonly weights: ExportWeights;
  readonly shipped: Shipped;
  readonly run?: CardRun;
}

const weightWords: Readonly<Record<ExportWeights, string>> = {
  f32: "32 bits each",
  f16: "16 bits each",
  q8: "matrices rounded to 8 bits, with a scale for every 32",
  q4: "matrices rounded to 4 bits, with a scale for every 32",
};

const does = {
  lm: "goes on with a text",
  classify: "gives a text its label",
  tag: "gives every word (or character) its tag",
  translate: "writes the target of a source text",
  embed: "gives a text its vector",
  mlm: "says which word a text hides",
} as const;

export function modelCard({ trained, name, weights, shipped, run }: CardFacts): string {
  const { metadata, usage, notes } = shipped;
  const parts = [
    frontMatter({ ...metadata, tags: "qkv" }),
    `# ${name}`,
    `${capital(described(trained.model))} that ${does[trained.task]}, exported by qkv.`,
    table(modelRows(trained, weights)),
    ...(run ? ["## Training", table(trainingRows(run))] : []),
    "## Use",
    ...usage.map((one) => shown(one).replaceAll("{{name}}", name)),
    ...(notes.length > 0 ? ["## What to know", notes.map((note) => `- ${note}`).join("\n")] : []),
  ];
  return `${parts.join("\n\n")}\n`;
}

const frontMatter = (fields: Readonly<Record<string, string>>): string =>
  ["---", ...Object.entries(fields).map(([key, value]) => (key === "tags" ? `tags:\n- ${value}` : `${key}: ${value}`)), "---"].join("\n");

const shown = ({ title, language, code }: Usage): string => `### ${title}\n\n\`\`\`${language}\n${code.trim()}\n\`\`\``;

type Row = readonly [name: string, value: string];

const table = (rows: readonly Row[]): string =>
  ["| | |", "|---|---|", ...rows.map(([name, value]) => `| ${name} | ${value.replaceAll("|", "\\|").replaceAll("\n", " ")} |`)].join("\n");

function modelRows({ model, labels }: TrainedModel, weights: ExportWeights): Row[] {
  const parameters = parametersOf(modelLoss(model)).total;
  const sizes = ["layers", "heads", "kvHeads", "width", "hidden", "positions", "norm", "activation", "cell"].flatMap((key) => {
    const value = (model as Readonly<Record<string, unknown>>)[key];
    return value === undefined ? [] : [`${key} ${value}`];
  });
  return [
    ["model", sizes.join(", ")],
    ["parameters", count(parameters)],
    ["weights", weightWords[weights]],
    ["context", `${count(model.context)} tokens`],
    ["vocabulary", `${count(model.vocab)} entries`],
    ...(labels.length > 0 ? [["labels", someOf(labels)] as const] : []),
  ];
}

function trainingRows({ config, log }: CardRun): Row[] {
  const { data, training, from, task } = config;
  const unit = (task === "lm" || task === "mlm") && data.longest === undefined ? "bytes" : "examples";
  const best = bestIn(log);
  const source = data.source.kind === "files" ? data.source.files.map((file) => basename(file)).join(", ") : sourceName(data.source);
  return [
    ["data", `${source}: ${count(data.train)} ${unit} to train on, ${count(data.valid)} to validate with`],
    ...(from ? [["started from", basename(from.run)] as const] : []),
    ["steps", `${count(training.steps)}, ${training.optimizer}, learning rate ${training.lr}, batch ${training.batch}`],
    ...(best ? [["validation loss", `${best.loss.toFixed(4)} at step ${count(best.step)}${perplexity(best.loss, task)}`] as const] : []),
  ];
}

const perplexity = (loss: number, task: string): string =>
  task === "lm" || task === "mlm" ? ` (perplexity ${Math.exp(loss).toFixed(2)} per ${task === "mlm" ? "hidden " : ""}token)` : "";

const someOf = (names: readonly string[]): string => `${names.slice(0, 20).join(", ")}${names.length > 20 ? `, … (${names.length})` : ""}`;
const count = (value: number): string => value.toLocaleString("en");
const capital = (text: string): string => `${text[0].toUpperCase()}${text.slice(1)}`;
