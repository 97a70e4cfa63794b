import { existsSync } from "node:fs";
import { ConfigError } from "../base/errors.ts";
import { isHubFolder } from "../disk/hub-kind.ts";
import { deviceOf } from "../node/devices.ts";
import { openRun, paths, runWeights } from "../runs/folder.ts";
import { partsOf } from "../runs/parts.ts";
import { precisions } from "../runtime/device.ts";
import { TrainedModel, type TrainedParts } from "../trained/trained.ts";
import type { Home } from "./home.ts";
import type { OpenSettings } from "./messages.ts";

/** A model of the storage. What is known of models from elsewhere, and of adapters, is loaded for these alone. */
export async function openedModel(place: string, { precision, adapter, step }: OpenSettings, home: Home): Promise<TrainedModel> {
  if (precision !== undefined && !precisions.includes(precision))
    throw new ConfigError(`there is no precision "${precision}"; there are ${precisions.join(", ")}`, {
      code: "config.choice",
      path: "precision",
    });
  const device = deviceOf(undefined, {
    ...(precision && { precision }),
    ...(home.threads !== undefined && { threads: home.threads }),
  });
  const plain = adapter === undefined && step === undefined && existsSync(paths(place).config) && !isHubFolder(place);
  const run = plain ? openRun(place) : undefined;
  const parts: TrainedParts =
    run && !run.config.training.lora
      ? partsOf(run, runWeights, { ...device, threads: device.threads ?? run.config.training.threads }, false)
      : (await import("./opening-outside.ts")).outsideParts(place, device, { adapter, step });
  return new TrainedModel(parts);
}
