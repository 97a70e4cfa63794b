import type * as z from "zod";
import { ConfigError } from "../base/errors.ts";
import { sourceName } from "../data/source.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import { givesSeveral, type ModelConfig, modelLoss } from "../models/any.ts";
import { modelSchemas } from "../models/config.ts";
import { type DeviceReport, devices } from "../node/devices.ts";
import { loraLayout } from "../runs/adapter.ts";
import { isOfText } from "../runs/config.ts";
import { paths, readCalibration, shippedFile } from "../runs/folder.ts";
import { openModel } from "../runs/open-model.ts";
import { parametersOf } from "../runtime/compile.ts";
import { normalisationOf } from "../tokens/normaliser.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { countParameters, type PartCount } from "../weights/count.ts";
import { trainedLayout } from "../weights/freeze.ts";
import { bareCommand } from "./commands.ts";

export const info = bareCommand("info")
  .option("--devices", "what this installation can compute on, and why not; each device is tried")
  .option("--json", "print one line of JSON and nothing else")
  .action((folder: string | undefined, { devices: asked, json }: { devices?: boolean; json?: boolean }) => {
    if ((asked ?? false) === (folder !== undefined))
      throw new ConfigError("info is about one thing: give the folder of a run, or --devices");
    if (folder === undefined) {
      const found = devices();
      console.log(json ? JSON.stringify({ devices: found }) : found.map(deviceLines).join("\n"));
      return;
    }
    const facts = describe(folder);
    console.log(json ? JSON.stringify(facts) : report(facts));
  });

function deviceLines({ name, usable, reason, gflops = 0, copies, lacks }: DeviceReport): string {
  if (!usable) return `${name.padEnd(8)}cannot be used: ${reason}`;
  return [
    `${name.padEnd(8)}can be used: ${gflops.toFixed(gflops < 10 ? 1 : 0)} GFLOPS in a product of matrices, copying included`,
    `        copied in a step of training: ${copies}`,
    ...(lacks.length > 0 ? [`        not there: ${lacks.join(", ")}`] : []),
  ].join("\n");
}

type Facts = ReturnType<typeof describe>;

/** Everything about a run, without its weights' numbers. */
function describe(folder: string) {
  const { config, tokenizer, outside } = openModel(folder);
  const layout = parametersOf(modelLoss(config.model));
  const count = countParameters(layout);
  const { lora, freeze } = config.training;
  const adapter = lora ? loraLayout(config.model, lora).total : 0;
  const trained = lora ? adapter : trainedLayout(layout, freeze).total;
  const metadata = outside ? undefined : readSafetensorsHeader(shippedFile(folder))?.metadata;
  const [validLoss, validTokens] = [metadata?.get("validLoss"), metadata?.get("validTokens")];
  const calibration = outside ? undefined : readCalibration(folder);
  const { hub } = config;
  return {
    run: folder,
    task: config.task,
    model: config.model,
    ...(config.labels && { labels: config.labels }),
    parameters: count.count + adapter,
    ...(trained < count.count && { trained, frozen: count.count + adapter - trained }),
    parts: parts(count),
    tokenizer: { kind: tokenizer.kind, vocab: tokenizer.size, ...readsAs(tokenizer), ...(tokenizer.slow && { slow: tokenizer.slow }) },
    data: config.data,
    ...(hub && {
      hub: { family: hub.family, architectures: hub.config.architectures, dtype: hub.dtype, chat: hub.chatTemplate !== undefined },
    }),
    ...(config.from && { from: { ...config.from, newLabels: (config.labels ?? []).slice(config.from.labels ?? 0) } }),
    training: config.training,
    step: (outside ? undefined : new Checkpoints(paths(folder).checkpoints).list().at(-1)) ?? 0,
    ...(calibration && { calibration }),
    best: metadata
      ? {
          step: Number(metadata.get("step")),
          validLoss: validLoss === undefined ? null : Number(validLoss),
          ...(validTokens !== undefined && { validTokens: Number(validTokens) }),
        }
      : null,
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

const alwaysTold = [
  "model",
  "layers",
  "heads",
  "width",
  "hidden",
  "context",
  "vocab",
  "dropout",
  "positions",
  "norm",
  "activation",
  "cell",
];

/** Not settings, but by which of its rules a version of qkv made the run. */
const ruleNames = ["noise", "accumulates", "reports"];

/** The settings that tell a model from others: its sizes, and what is not as usual. */
function tellingOf(model: ModelConfig): object {
  if (model.model === "own") return model;
  const { shape }: { readonly shape: Readonly<Record<string, z.ZodType>> } = modelSchemas[model.model];
  const usual = (name: string): unknown => shape[name]?.safeParse(undefined).data;
  return Object.fromEntries(Object.entries(model).filter(([name, value]) => alwaysTold.includes(name) || value !== usual(name)));
}

function report({ run, task, model, labels, parameters, trained, frozen, ...rest }: Facts): string {
  const { parts: places, tokenizer, data, hub, from, training, step, calibration, best } = rest;
  const settings = (values: object): string =>
    Object.entries(values)
      .map(([name, value]) =>
        name === "lora"
          ? `lora (${Object.entries(value)
              .map(([key, own]) => `${key} ${own}`)
              .join(", ")})`
          : `${name} ${value}`,
      )
      .join(", ");
  const source = sourceName(data.source);
  const several = givesSeveral(model);
  const reads = [tokenizer.normalize, tokenizer.lowercase && "lower case"].filter(Boolean);
  const unit = isOfText({ task, data }) ? "bytes" : "examples";
  const imported = data.source.kind === "hub";
  const lines: [string, string][] = [
    ["run", run],
    [
      "task",
      labels
        ? `${task}, ${several ? "any number of " : ""}${labels.length} labels: ${labels.slice(0, 12).join(", ")}${labels.length > 12 ? ", …" : ""}`
        : task,
    ],
    ["model", settings(tellingOf(model)).replace(/^model /, "")],
    ["parameters", `${parameters.toLocaleString("en")}${frozenWords(trained, frozen)}`],
    ...Object.entries(places).map(([name, count]): [string, string] => ["", `${count.toLocaleString("en").padStart(14)}  ${name}`]),
    [
      "tokenizer",
      `${tokenizer.kind}, ${tokenizer.vocab.toLocaleString("en")} entries${reads.length > 0 ? `; reads ${reads.join(", ")}` : ""}${tokenizer.slow ? `; slow, because ${tokenizer.slow}` : ""}`,
    ],
    ...(hub
      ? [
          [
            "came as",
            [hub.family, hub.architectures, hub.dtype, hub.chat ? "with a chat template" : undefined]
              .flat()
              .filter((one) => one !== undefined)
              .join(", "),
          ] as [string, string],
        ]
      : []),
    ...(imported
      ? []
      : [
          [
            "data",
            `${source}: ${data.train.toLocaleString("en")} ${unit} to train on, ${data.valid.toLocaleString("en")} to validate with`,
          ] as [string, string],
        ]),
    ...(from ? [["from", fromWords(from)] as [string, string]] : []),
    ["context", `${model.context.toLocaleString("en")} tokens${longestText(data.longest)}`],
    ...(imported
      ? []
      : ([
          ["training", settings(Object.fromEntries(Object.entries(training).filter(([name]) => !ruleNames.includes(name))))],
          [
            "so far",
            `${step.toLocaleString("en")} of ${training.steps.toLocaleString("en")} steps${step < training.steps ? `; go on with: qkv train --resume ${run}` : ""}`,
          ],
        ] as [string, string][])),
    ...(calibration
      ? [
          [
            "calibrated",
            `temperature ${calibration.temperature.toFixed(3)}, fitted to ${calibration.examples} held-out examples: calibration error ${calibration.ece.toFixed(4)}, ${calibration.eceBefore.toFixed(4)} without`,
          ] as [string, string],
        ]
      : []),
    ...(imported
      ? []
      : ([
          [
            "best",
            best === null
              ? "nothing saved yet"
              : `step ${best.step.toLocaleString("en")}${best.validLoss === null ? ", the last that was saved" : `, validation loss ${best.validLoss.toFixed(4)}${best.validTokens === undefined ? "" : ` over ${best.validTokens.toLocaleString("en")} tokens`}`}`,
          ],
        ] as [string, string][])),
  ];
  return lines.map(([name, text]) => `${name.padEnd(12)}${text}`).join("\n");
}
