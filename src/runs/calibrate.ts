import { cut } from "../batches/encode.ts";
import type { LabelledIds, SeveralIds } from "../batches/examples.ts";
import type { Encoded } from "../data/encoded.ts";
import { spread, validationPart } from "../data/material.ts";
import { writeDurably } from "../disk/files.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import { judged, labelAnswers, labelMeasures } from "../evaluation/label-measures.ts";
import { calibrationError, fittedTemperature, type Scored } from "../metrics/calibration.ts";
import type { Device } from "../runtime/device.ts";
import { TrainedModel } from "../trained/trained.ts";
import { type Calibration, type OpenRun, paths, readCalibration, shippedFile } from "./folder.ts";
import { trainedParts } from "./weights.ts";

// At the end of training a classifier's probabilities are compared with what was held out, and a temperature makes them true.

/** What was found on the examples that were held out. */
export interface Calibrated {
  readonly temperature: number;
  readonly accuracy: number;
  readonly f1: number;
  /** Expected calibration error with and without the temperature. */
  readonly ece: number;
  readonly eceBefore: number;
  readonly examples: number;
}

/** Fewer examples say too little about how sure a model may be. */
export const fewestToCalibrate = 20;

/** Scores that the temperature is fitted to: it is one number, and more would only hold up everything else. */
const mostScores = 500_000;

/** Fits a temperature to the weights in model.safetensors and keeps it in calibration.json; nothing, where that is done or not wanted. */
export async function calibrate(run: OpenRun, encoded: Encoded, device: Device): Promise<Calibrated | undefined> {
  const { folder, config } = run;
  const file = paths(folder).calibration;
  if (config.task !== "classify" || config.training.calibrate !== "temperature" || encoded.kind === "text") return undefined;
  const held = validationPart(encoded) as readonly (LabelledIds | SeveralIds)[];
  if (held.length < fewestToCalibrate || readCalibration(folder)) return undefined;
  const trained = new TrainedModel({ ...trainedParts(run, device), temperature: 1 });
  try {
    const answers: Scored[] = [];
    const shorter = cut(held, config.model.context, run.tokenizer).examples;
    for await (const { answers: own } of labelAnswers(trained, shorter, encoded.layout)) answers.push(...own);
    const temperature = fittedTemperature(spread(answers, Math.ceil(mostScores / trained.labels.length)));
    const {
      accuracy,
      f1,
      ece: eceBefore,
    } = labelMeasures(
      trained,
      answers.map((answer) => [judged(answer, 1)]),
    );
    const ece = calibrationError(answers.flatMap((answer) => judged(answer, temperature).claims));
    const step = Number(readSafetensorsHeader(shippedFile(folder))?.metadata.get("step"));
    const found: Calibration = { format: 1, temperature, step, examples: answers.length, eceBefore, ece };
    writeDurably(file, `${JSON.stringify(found)}\n`);
    return { temperature, accuracy, f1, ece, eceBefore, examples: answers.length };
  } finally {
    await trained.release();
  }
}
