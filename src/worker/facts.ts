import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { sourceName } from "../data/source.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { isGgufFile } from "../disk/gguf-file.ts";
import { modelLoss } from "../models/any.ts";
import type { RunConfig } from "../runs/config.ts";
import { isBusy, type OpenRun, paths, shippedFile } from "../runs/folder.ts";
import { bestIn } from "../runs/log.ts";
import { openModel } from "../runs/open-model.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { RunFacts, SettingValue } from "./found.ts";
import { ofFiles } from "./of-files.ts";

// What a table of runs shows of each. What follows from a file is found again only when the file is another.

const mostPoints = 60;

interface Logged {
  readonly loss: number | null;
  readonly validLoss: number | null;
  readonly curve: RunFacts["curve"];
}

const loggedIn = ofFiles((file): Logged => {
  const lines = readableLines(file);
  const losses = lines.flatMap(({ step, loss }) => (typeof step === "number" && typeof loss === "number" ? [[step, loss] as const] : []));
  return {
    loss: losses.at(-1)?.[1] ?? null,
    validLoss: bestIn(lines)?.loss ?? null,
    curve: thinned(losses),
  };
});

/** The lines that can be read: the end of a log may just be written, and whoever asks for all of it is told what else is wrong. */
const readableLines = (file: string): Readonly<Record<string, unknown>>[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [Object(JSON.parse(line))];
      } catch {
        return [];
      }
    });

/** The mean of each of at most so many stretches, at its last step. */
export function thinned(points: readonly (readonly [number, number])[], most = mostPoints): (readonly [number, number])[] {
  const count = Math.min(most, points.length);
  return Array.from({ length: count }, (_, i) => {
    const stretch = points.slice(Math.floor((i * points.length) / count), Math.floor(((i + 1) * points.length) / count));
    return [stretch[stretch.length - 1][0], stretch.reduce((sum, [, loss]) => sum + loss, 0) / stretch.length];
  });
}

const parameterCounts = new Map<string, number>();

function parametersIn({ config: { model } }: OpenRun): number {
  const key = JSON.stringify(model);
  const known = parameterCounts.get(key) ?? parametersOf(modelLoss(model)).total;
  parameterCounts.set(key, known);
  return known;
}

const isValue = (value: unknown): value is SettingValue => ["string", "number", "boolean"].includes(typeof value);

/** Everything that was chosen, under the names of the options. */
export function flatSettings({ task, model, training, tokenizer, data, from }: RunConfig): Record<string, SettingValue> {
  const { lora, freeze, classWeights, ...plain } = training;
  const sizes = Object.entries(model).map(([name, value]) => [`model.${name}`, value] as const);
  const adapter = lora
    ? [["lora", lora.rank] as const, ["loraAlpha", lora.alpha] as const, ["loraTargets", lora.targets.join(",")] as const]
    : [];
  const all: (readonly [string, unknown])[] = [
    ["task", task],
    ["data", sourceName(data.source)],
    ["tokenizer", tokenizer.kind],
    ...sizes,
    ...Object.entries(plain),
    ...adapter,
    ["freeze", freeze?.join(",")],
    ["classWeights", classWeights?.join(",")],
    ["from", from?.run],
  ];
  return Object.fromEntries(all.filter((entry): entry is [string, SettingValue] => isValue(entry[1])));
}

/** What is told of runs, and of models that lie beside them; `paused` are those whose training rests. */
export const factsOf = (
  runs: readonly OpenRun[],
  paused: ReadonlySet<string> = new Set(),
  outsiders: readonly string[] = [],
): RunFacts[] => [
  ...runs.map((run) => {
    const { folder, config } = run;
    const places = paths(folder);
    const saved = new Checkpoints(places.checkpoints).list();
    const times = [places.config, places.log, shippedFile(folder)].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    const rests = paused.has(resolve(folder));
    return {
      run: folder,
      task: config.task,
      model: config.model.model,
      step: saved.at(-1) ?? 0,
      steps: config.training.steps,
      opens: existsSync(shippedFile(folder)),
      parameters: parametersIn(run),
      ...{ loss: null, validLoss: null, curve: [], ...loggedIn(places.log) },
      modified: Math.max(...times),
      settings: flatSettings(config),
      hasCheckpoints: saved.length > 0,
      ...(rests ? { training: "paused" as const } : isBusy(folder) && { training: "training" as const }),
    };
  }),
  ...outsiders.flatMap((place) => outsideFacts(isGgufFile(place) ? place : join(place, "config.json")) ?? []),
];

/** A model of somebody else, by its config.json or its .gguf; nothing of one that cannot be opened here. */
const outsideFacts = ofFiles((file): RunFacts | undefined => {
  const place = isGgufFile(file) ? file : dirname(file);
  try {
    const run = openModel(place);
    const { config } = run;
    return {
      run: place,
      task: config.task,
      model: config.model.model,
      ...{ step: 0, steps: 0, opens: true, parameters: parametersIn(run), loss: null, validLoss: null, curve: [], hasCheckpoints: false },
      modified: statSync(file).mtimeMs,
      settings: Object.fromEntries(Object.entries(flatSettings(config)).filter(([name]) => /^(model\.|task$|tokenizer$)/.test(name))),
    };
  } catch {
    return undefined; // whoever opens it is told what is wrong
  }
});

/** The whole config of a run, or of a model from elsewhere as if it were one. */
export const configOf = (place: string): RunConfig => openModel(place).config;
