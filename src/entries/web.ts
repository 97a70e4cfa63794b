// In a web page: train, go on, open and look inside, all of it computed in a worker. A page that needs one worker calls `train` and `open`;
// `connect` makes one with settings of its own.
import {
  Computer,
  type ComputerOptions,
  type PageData,
  type PageOpenOptions,
  type PagePlace,
  type PageTrainSettings,
} from "../worker/computer.ts";
import type { Run } from "../worker/run.ts";

export type { ExampleRow } from "../evaluation/answered.ts";
export { AskError } from "../protocol/asking.ts";
export type { AskedChange, Form, GivenPrompt, ModelFacts, ToldError, ToldToken } from "../protocol/messages.ts";
export type { RunEvent, TrainResult } from "../runs/drive.ts";
export {
  Computer,
  type ComputerOptions,
  type ExamplesOptions,
  type Kept,
  type PageData,
  type PageFile,
  type PageOpenOptions,
  type PagePlace,
  type PageTrainSettings,
  type ResumeChanges,
  Training,
} from "../worker/computer.ts";
export type { CostSettings, HeldOutExamples, RunFacts, TrainingPlan } from "../worker/found.ts";
export type { JobEvent, TrainingFacts, WorkerReport } from "../worker/messages.ts";
export { type CallOptions, type PageSample, type PageWriteOptions, Run, type WrittenPiece } from "../worker/run.ts";

/** Starts a worker that computes. Its file and ONNX Runtime's are found beside this one, as npm lays them; elsewhere `worker` and `engine` say where. */
export async function connect({ worker, engine, device = "auto", threads, storage = "qkv" }: ComputerOptions = {}): Promise<Computer> {
  const place = engine ?? new URL("../../../onnxruntime-web/dist/", import.meta.url);
  const settings = {
    engine: new URL(place, location.href).href,
    device,
    ...(threads !== undefined && { threads }),
    storage: storage === "memory" ? ({ storage } as const) : { name: storage, who: location.href },
  };
  return Computer.start(settings, () => {
    if (typeof worker === "function") return worker();
    if (worker !== undefined) return new Worker(worker, { type: "module" });
    return new Worker(new URL("./worker.js", import.meta.url), { type: "module" }); // as bundlers know it
  });
}

let usual: Promise<Computer> | undefined;

/** The worker that `train` and `open` share; settings count where it is asked for first. One that could not start or was ended is followed by another. */
export async function computer(options?: ComputerOptions): Promise<Computer> {
  const before = usual;
  const found = await before?.catch(() => undefined);
  if (found && !found.over) return found;
  if (usual === before || usual === undefined) usual = connect(options); // else somebody who asked at the same time was faster
  return usual;
}

/** Trains in this page, and opens the run that comes of it. */
export const train = async (data: PageData, settings?: PageTrainSettings): Promise<Run> => (await computer()).train(data, settings);

/** Opens a run of this page, one at an address, or files. */
export const open = async (place: PagePlace, options?: PageOpenOptions): Promise<Run> => (await computer()).open(place, options);
