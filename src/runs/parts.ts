import type { Device } from "../runtime/device.ts";
import type { TrainedParts } from "../trained/trained.ts";
import type { Weights } from "../weights/weights.ts";
import { type Calibration, type OpenRun, readCalibration } from "./folder.ts";

/** A run as a trained model; its weights are opened when they are first wanted. */
export function partsOf(
  run: OpenRun,
  weightsOf: (run: OpenRun) => Weights,
  device: Device,
  warn?: TrainedParts["warn"],
  name = run.folder,
): TrainedParts {
  const { config, tokenizer } = run;
  let weights: Weights | undefined;
  let temperature: number | undefined;
  return {
    model: config.model,
    tokenizer,
    hub: config.hub,
    release: () => weights?.release?.(),
    labels: config.labels,
    chat: config.chat,
    device,
    name,
    warn,
    get weights() {
      weights ??= weightsOf(run);
      return weights;
    },
    get temperature() {
      temperature ??= calibrationOf(run)?.temperature ?? 1;
      return temperature;
    },
  };
}

/** What was fitted belongs to the weights of one step. */
function calibrationOf({ folder, outside, step }: OpenRun): Calibration | undefined {
  const found = outside && step === undefined ? undefined : readCalibration(folder);
  return step === undefined || found?.step === step ? found : undefined;
}
