import { join } from "node:path";
import { Computer } from "../../src/worker/computer.ts";
import type { FromWorker, ToWorker, WorkerReport } from "../../src/worker/messages.ts";
import { PageWorker } from "../../src/worker/worker.ts";

// The two ends of a page's worker in one process of Node: what is said is copied as it would be on the way.

/** Somebody who computes here; the runs are those of a folder, "/runs/<name>". */
export function computerHere(folder: string): Promise<Computer> {
  const said = (data: FromWorker) => queueMicrotask(() => worker.onmessage?.({ data: structuredClone(data) }));
  const own = join(folder, ".studio");
  const home = { runs: folder, data: join(own, "data"), models: join(own, "models"), cache: join(own, "cache") };
  const inside = new PageWorker(said, { called: "studio", ...home, fetches: false });
  const worker = {
    onmessage: undefined as ((event: { readonly data: FromWorker }) => void) | undefined,
    onerror: undefined,
    onmessageerror: undefined,
    postMessage(message: ToWorker): void {
      const copy = structuredClone(message);
      if ("start" in copy) said({ ready: {} as WorkerReport });
      else queueMicrotask(() => inside.hear(copy));
    },
    terminate() {},
  };
  return Computer.start({ engine: "", device: "auto", storage: { storage: "memory" } }, () => worker as unknown as Worker);
}
