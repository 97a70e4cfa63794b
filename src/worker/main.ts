import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { plainError } from "../protocol/words.ts";
import { type WebDevice, webDevice } from "../web/devices.ts";
import { type Standing, settle } from "../web/here/devices.ts";

import { mountStorage } from "../web/storage/mount.ts";
import type { Home } from "./home.ts";
import type { FromWorker, ToWorker, WorkerReport, WorkerSettings } from "./messages.ts";
import { PageWorker } from "./worker.ts";

// What a page's worker does: it mounts its storage, settles what computes, and then hears what it is asked.

z.config({ jitless: true }); // schemas are not compiled: a page's policy need not allow eval

const tell = (said: FromWorker): void => self.postMessage(said);

async function started({ engine, device, threads, storage }: WorkerSettings): Promise<WorkerReport> {
  const { kept, reason, persisted } = await mountStorage(storage);
  const chosen = await webDevice(device, { onnxruntime: engine, threads, readFile: (path) => new Uint8Array(readFileSync(path)) });
  settle(standingOf(chosen));
  return { device: chosen.report, storage: { kept, ...(reason !== undefined && { reason }), persisted } };
}

/** Beside a GPU stands the WebAssembly that it comes with. */
const standingOf = (device: WebDevice): Standing =>
  device.engine.host ? { cpu: { ...device, engine: device.engine.host }, webgpu: device, usual: "webgpu" } : { cpu: device, usual: "cpu" };

/** Milliseconds in which the page may do what it came for. */
const rest = 3000;

/** What is loaded when it is wanted is loaded when nothing is, too: from then on nothing is asked for, and a page without a network does all that it could. */
function loadAhead(): void {
  const pieces = [() => import("./training.ts"), () => import("./measuring.ts"), () => import("./opening-outside.ts")];
  const asked = [() => import("./facts.ts"), () => import("./planning.ts")];
  const parts = [() => import("../protocol/looks.ts"), () => import("../generation/forms.ts")];
  for (const load of [...pieces, ...asked, ...parts]) void load().catch(() => {}); // whoever wants it asks again
}

/** Texts that a page can hold are tokenised again in a moment, so they are not kept. */
const home: Home = {
  called: "page",
  runs: "/runs",
  data: "/data",
  models: "/models",
  cache: join(tmpdir(), "tokenised"),
  fetches: true,
  device: "auto",
};

const worker = new PageWorker(tell, home);
self.onmessage = ({ data: message }: MessageEvent<ToWorker>) => {
  if (!("start" in message)) return worker.hear(message);
  started(message.start).then(
    (ready) => {
      tell({ ready });
      setTimeout(loadAhead, rest);
    },
    (error) => tell({ broken: plainError(error) }),
  );
};
