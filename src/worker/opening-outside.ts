import { ConfigError } from "../base/errors.ts";
import { atStep } from "../runs/at-step.ts";
import type { OpenRun } from "../runs/folder.ts";
import { openModel } from "../runs/open-model.ts";
import { trainedParts } from "../runs/weights.ts";
import { withAdapter } from "../runs/with-adapter.ts";
import type { Device } from "../runtime/device.ts";
import type { TrainedParts } from "../trained/trained.ts";
import type { OpenSettings } from "./messages.ts";

type Wanted = Pick<OpenSettings, "adapter" | "step">;

/** A folder of Hugging Face, a .gguf, a run at one of its checkpoints, or one whose weights are another's with an adapter. */
export function outsideParts(place: string, device: Device, wanted: Wanted): TrainedParts {
  const run = outsideRun(place, wanted);
  return trainedParts(run, { ...device, threads: device.threads ?? run.config.training.threads }, false);
}

export function outsideRun(place: string, { adapter, step }: Wanted): OpenRun {
  const run = openModel(place);
  if (adapter !== undefined && step !== undefined)
    throw new ConfigError(
      "an adapter was trained beside the best weights of its base, and none of its checkpoints; leave out one of the two",
      {
        code: "config.conflict",
        path: "step",
      },
    );
  if (step !== undefined) return atStep(run, step);
  return adapter === undefined ? run : withAdapter(run, adapter);
}
