import { openModel } from "../runs/open-model.ts";
import { trainedParts } from "../runs/weights.ts";
import { withAdapter } from "../runs/with-adapter.ts";
import type { Device } from "../runtime/device.ts";
import type { TrainedParts } from "../trained/trained.ts";

/** A folder of Hugging Face, a .gguf, or a run whose weights are another's with an adapter. */
export function outsideParts(place: string, device: Device, adapter?: string): TrainedParts {
  const run = openModel(place);
  return trainedParts(adapter === undefined ? run : withAdapter(run, adapter), device, false);
}
