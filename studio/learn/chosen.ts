import { count } from "../address.ts";
import type { Live } from "../stores/live.ts";
import type { Snapshot } from "../stores/snapshots.ts";

/** The snapshot that is shown: the one of the address, or the newest. */
export function chosenSnapshot(live: Live): { readonly at: number; readonly snapshot: Snapshot | undefined } {
  const all = live.snapshots.value;
  const wanted = count("at");
  const found = wanted === undefined ? -1 : all.findIndex(({ step }) => step === wanted);
  const at = found === -1 ? all.length - 1 : found;
  return { at, snapshot: all[at] };
}
