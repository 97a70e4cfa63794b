import type { CostFacts } from "../cost/facts.ts";
import type { Measures } from "../evaluation/evaluate.ts";
import type { TrainSettings } from "../library/train.ts";
import type { FromModel, ModelFacts, ToldError, ToModel } from "../protocol/messages.ts";
import type { RunConfig } from "../runs/config.ts";
import type { RunEvent, TrainResult } from "../runs/drive.ts";
import type { Changes } from "../runs/resume.ts";
import type { Precision } from "../runtime/device.ts";
import type { DeviceName } from "../runtime/provider.ts";
import type { GivenRow } from "../text/given.ts";
import type { WebDevice, WebDeviceChoice } from "../web/devices.ts";
import type { MountedStorage, MountOptions } from "../web/storage/mount.ts";
import type { CostSettings, HeldOutExamples, RunFacts, TrainingPlan } from "./found.ts";

// What a page asks of its worker, and what it is told. What is asked of an opened model is the protocol of every desk, with the model's number around it.

/** How a worker begins. */
export interface WorkerSettings {
  /** The address of the folder with onnxruntime-web's files. */
  readonly engine: string;
  readonly device: WebDeviceChoice;
  readonly threads?: number;
  /** Where runs are kept. */
  readonly storage: MountOptions;
}

/** A file of data or of a model: an address, a file that somebody chose, a text, or rows. */
export type GivenFile =
  | { readonly url: string }
  | { readonly file: File; readonly name?: string }
  | { readonly text: string; readonly name?: string }
  | { readonly rows: readonly GivenRow[] };

/** Settings of a training that can be sent. */
export type SentSettings = Omit<TrainSettings, "listen" | "warn" | "signal" | "device" | "cache" | "valid" | "from"> & {
  readonly device?: WebDeviceChoice;
  /** A run of this page, by its name. */
  readonly from?: string;
};

/** Where a model is opened from: a run of this page, an address, or files. */
export type ModelPlace =
  | { readonly run: string }
  | { readonly url: string; readonly integrity?: Readonly<Record<string, string>> }
  | { readonly files: readonly { readonly file: File; readonly path: string }[]; readonly name?: string };

export interface OpenSettings {
  readonly precision?: Precision;
  readonly adapter?: string;
  /** The weights of a checkpoint, by its step, in the place of the best ones. They are in memory, whatever becomes of the checkpoint. */
  readonly step?: number;
}

export type Job =
  | { readonly kind: "train"; readonly data: readonly GivenFile[]; readonly valid?: GivenFile; readonly settings: SentSettings }
  | { readonly kind: "resume"; readonly run: string; readonly changes: Omit<Changes, "device" | "threads"> }
  | ({ readonly kind: "open"; readonly from: ModelPlace } & OpenSettings)
  | { readonly kind: "close"; readonly model: number }
  | ({ readonly kind: "evaluate"; readonly run: string; readonly data: readonly GivenFile[] } & OpenSettings)
  | { readonly kind: "runs" }
  | { readonly kind: "log"; readonly run: string }
  | { readonly kind: "remove"; readonly run: string }
  | { readonly kind: "files"; readonly run: string }
  | { readonly kind: "checkpoints"; readonly run: string }
  | { readonly kind: "config"; readonly run: string }
  | ({ readonly kind: "examples"; readonly run: string; readonly most?: number } & OpenSettings)
  | { readonly kind: "passage"; readonly run: string }
  | { readonly kind: "plan"; readonly data: readonly GivenFile[]; readonly valid?: GivenFile; readonly settings: SentSettings }
  | { readonly kind: "cost"; readonly settings: CostSettings }
  /** Hears of a training that somebody else began, and may pause and stop it. */
  | { readonly kind: "follow"; readonly run: string }
  | { readonly kind: "trainings" };

export type JobKind = Job["kind"];

/** A training that goes on, whoever began it. */
export interface TrainingFacts {
  readonly run: string;
  readonly state: "training" | "paused";
  readonly step: number;
  readonly steps: number;
}

export interface Opened {
  readonly model: number;
  readonly run: string;
  readonly facts: ModelFacts;
}

export interface JobAnswers {
  readonly train: { readonly result: TrainResult };
  readonly resume: { readonly result: TrainResult };
  readonly open: Opened;
  readonly close: null;
  readonly evaluate: { readonly measures: Measures; readonly warnings: readonly string[] };
  readonly runs: readonly RunFacts[];
  /** The lines of its log. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly remove: null;
  readonly files: readonly File[];
  /** Steps that are saved, the first first. */
  readonly checkpoints: readonly number[];
  readonly config: RunConfig;
  readonly examples: HeldOutExamples;
  readonly passage: string;
  readonly plan: TrainingPlan;
  readonly cost: CostFacts;
  readonly follow: { readonly result: TrainResult };
  readonly trainings: readonly TrainingFacts[];
}

/** What happens while a job is under way. */
export type JobEvent =
  | RunEvent
  | { readonly kind: "paused" }
  /** The browser has halted a page that nobody looks at, worker and all; or lets it go on. */
  | { readonly kind: "frozen" | "thawed" }
  | { readonly kind: "loading"; readonly file: string; readonly bytes: number; readonly total?: number };

export type ToWorker =
  | { readonly start: WorkerSettings }
  | { readonly job: number; readonly work: Job }
  | { readonly stop: number }
  | { readonly pause: number }
  | { readonly go: number }
  | { readonly model: number; readonly ask: ToModel };

/** What a page has to compute with. */
export interface WorkerReport {
  readonly device: Omit<WebDevice["report"], "chosen"> & { readonly chosen: WebDevice["report"]["chosen"] | DeviceName };
  readonly storage: Pick<MountedStorage, "kept" | "reason" | "persisted">;
  /** Of a studio on this machine: the folder of its runs, and its version. */
  readonly house?: { readonly folder: string; readonly version: string };
}

/** What a page uses of a worker: one that has these may be anywhere. */
export interface WorkerEnd {
  onmessage: ((event: MessageEvent<FromWorker>) => unknown) | null;
  /** One that knows more of what went wrong than a sentence tells it. */
  onerror: ((event: ErrorEvent & { readonly told?: ToldError }) => unknown) | null;
  onmessageerror: ((event: MessageEvent) => unknown) | null;
  postMessage(message: ToWorker): void;
  terminate(): void;
}

export type FromWorker =
  | { readonly ready: WorkerReport }
  | { readonly broken: ToldError }
  | { readonly job: number; readonly events: readonly JobEvent[] }
  | { readonly job: number; readonly answer: JobAnswers[JobKind] }
  | { readonly job: number; readonly error: ToldError; readonly stopped: boolean }
  | { readonly model: number; readonly said: readonly FromModel[] };
