import type { Filling } from "../evaluation/fill.ts";
import type { Classification, Tagging } from "../evaluation/predict.ts";
import type { Translation } from "../evaluation/translate.ts";
import type { SamplingInput } from "../generation/sampling.ts";
import type { Sample } from "../generation/writing.ts";
import type { AttentionKind } from "../inspection/look.ts";
import type { Swept } from "../inspection/sweep.ts";
import type { ModelTask } from "../text/columns.ts";
import type { ChatMessage } from "../text/examples.ts";
import type { ViewName, ViewOptions } from "../views/views.ts";

// What somebody who computes is asked, and what he says: the same for a child process of a server, a web worker and the studio. All of
// it can be written as JSON.

/** What is written from: a text, token ids, or a conversation. */
export type GivenPrompt = string | readonly number[] | readonly ChatMessage[];

/** The form that an answer must have: any JSON object, or what a JSON schema allows. */
export type Form = { readonly json: true } | { readonly schema: Readonly<Record<string, unknown>> };

export interface WriteAsk {
  readonly kind: "write";
  readonly prompts: readonly GivenPrompt[];
  /** Texts for each prompt. */
  readonly samples: number;
  /** The most tokens of each; what the context has room for, if left out. 0 only to have a prompt scored. */
  readonly tokens?: number;
  /** A bias of −1e6 forbids a token: JSON has no infinity. */
  readonly sampling: Omit<SamplingInput, "bias"> & { readonly bias?: readonly (readonly [id: number, value: number])[] };
  /** Everything random follows from it: the same seed is the same text as the library's. */
  readonly seed: number;
  readonly stop: readonly string[];
  /** Every token is told with its log-probability, and with that many of the likeliest ones. */
  readonly top?: number;
  /** The prompts are told as text, and where `top` is asked for, their tokens too. */
  readonly echo?: boolean;
  readonly form?: Form;
  /** Refuse what does not fit into the context, in the place of leaving a part of it out. */
  readonly strict: boolean;
  /** The likeliest texts as a whole, by following so many at once. */
  readonly beams?: number;
  readonly lengthPenalty?: number;
}

export interface EmbedAsk {
  readonly kind: "embed";
  readonly texts: readonly string[];
  /** `last` is what a decoder's last token knows. */
  readonly pool?: "mean" | "class" | "last";
  readonly normalise?: boolean;
}

export interface LookAsk {
  readonly kind: "look";
  readonly view: ViewName;
  readonly text: string;
  readonly options: Omit<ViewOptions, "warn" | "signal">;
  /** Numbers, a picture, a page of its own; or the weights of attention in few bytes, the JSON of a `PackedAttention`. */
  readonly as: "json" | "svg" | "html" | "packed";
  /** Packed maps have at most so many cells a side, and all their weights if left out. */
  readonly side?: number;
}

/** Any activation while a text is read, by the names of its taps; `*` stands for any characters. Without names, only what there is. */
export interface TapsAsk {
  readonly kind: "taps";
  readonly text: string;
  readonly names: readonly string[];
  readonly target?: string;
  /** Of taps with heads only this one is told, counted among the heads of queries; all if left out. */
  readonly head?: number;
}

/** What is done to taps: a head is silenced, numbers of another text are taken, all are multiplied, or others are given. */
export type AskedChange =
  | { readonly layer: number; readonly head: number; readonly attention?: AttentionKind }
  | { readonly tap: string; readonly from: string; readonly target?: string; readonly positions?: readonly number[] }
  | { readonly tap: string; readonly value: number; readonly positions?: readonly number[] }
  | { readonly tap: string; readonly value: readonly number[] };

/** What would be said of a text if some activations were others. */
export interface PatchAsk {
  readonly kind: "patch";
  readonly text: string;
  readonly target?: string;
  readonly changes: readonly AskedChange[];
  /** Only the answer at this position is told, not that at each. */
  readonly position?: number;
  /** The likeliest answers there by name, so many of before and of after. */
  readonly top?: number;
}

/** Of a tap one position or one head is replaced at a time: with another text's numbers, or with 0. */
export interface SweepAsk {
  readonly kind: "sweep";
  readonly text: string;
  readonly target?: string;
  readonly tap: string;
  readonly over: "position" | "head";
  readonly from?: string;
  readonly fromTarget?: string;
  /** The answer whose probability is asked for, by its id, and where it is given. */
  readonly answer?: number;
  readonly position?: number;
}

/** Everything that can be asked of a model, and answered. */
export type Ask =
  | WriteAsk
  | EmbedAsk
  | LookAsk
  | TapsAsk
  | PatchAsk
  | SweepAsk
  | { readonly kind: "classify"; readonly texts: readonly string[] }
  | { readonly kind: "tag"; readonly texts: readonly string[] }
  | { readonly kind: "fill"; readonly texts: readonly string[]; readonly top?: number }
  | { readonly kind: "translate"; readonly texts: readonly string[]; readonly beams?: number; readonly lengthPenalty?: number }
  | { readonly kind: "tokenize"; readonly given: string | readonly ChatMessage[] }
  | { readonly kind: "detokenize"; readonly ids: readonly number[] };

export type AskKind = Ask["kind"];

/** What each is answered with in the end. */
export interface Answers {
  /** Nothing more: all of it was told as it came. */
  readonly write: null;
  readonly classify: readonly Classification[];
  readonly tag: readonly Tagging[];
  readonly fill: readonly Filling[];
  readonly translate: readonly Translation[];
  readonly embed: { readonly vectors: readonly (readonly number[])[]; readonly tokens: number };
  /** As the text that is sent on: it may be long, and whoever passes it on need not read it. */
  readonly look: { readonly json: string } | { readonly svg: string } | { readonly html: string };
  readonly taps: {
    readonly taps: readonly Pick<ToldActivation, "name" | "axes">[];
    readonly tokens: readonly string[];
    readonly targetTokens?: readonly string[];
    /** Without names: what the tokens are to the model (a class token in front has none), and all parameters. */
    readonly ids?: readonly number[];
    readonly targetIds?: readonly number[];
    readonly parameters?: readonly { readonly name: string; readonly shape: readonly number[] }[];
    readonly activations: readonly ToldActivation[];
  };
  readonly patch: {
    readonly before: ToldAnswers;
    readonly after: ToldAnswers;
    /** How much the loss rises, where there is one; and the mean Kullback–Leibler divergence of the answers, in nats. */
    readonly loss?: number;
    readonly divergence: number;
    /** Where `top` was asked for: the likeliest before or after, with both probabilities. */
    readonly candidates?: readonly { readonly id: number; readonly name: string; readonly before: number; readonly after: number }[];
  };
  readonly sweep: Swept;
  readonly tokenize: { readonly ids: readonly number[]; readonly pieces: readonly string[] };
  readonly detokenize: { readonly text: string };
}

/** The numbers of a tap in row-major order, the axis of the batch left out. */
export interface ToldActivation {
  readonly name: string;
  readonly axes: readonly string[];
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

export interface ToldAnswers {
  readonly loss?: number;
  readonly logProbabilities: ToldActivation;
}

/** What goes to one who computes: a question with its number, or a word on the side. */
export type ToModel =
  | { readonly id: number; readonly ask: Ask }
  | { readonly cancel: number }
  | { readonly ping: number }
  /** How many bytes the rows that are being written may take from now on. */
  | { readonly room: number };

/** A token with its log-probability, under the model's own distribution. */
export interface ToldToken {
  readonly id: number;
  /** Its text; half characters read like `\xE4`. */
  readonly text: string;
  readonly bytes: readonly number[] | null;
  readonly logProbability: number;
  /** What else could have come here, the likeliest first. */
  readonly top: readonly Omit<ToldToken, "top" | "total">[];
  /** Of a token that was written: a log-probability and this are the score that penalties are applied to. */
  readonly total?: number;
}

/** It begins. Of writing: how long the prompts are, and where it was asked for, what they are. */
export interface Begun {
  /** What is noteworthy about the prompts. */
  readonly warnings?: readonly string[];
  readonly prompts: readonly {
    readonly tokens: number;
    /** Its text, and its tokens with what the model makes of each; the first has nothing before it. */
    readonly text?: string;
    readonly scored?: readonly (Omit<ToldToken, "logProbability"> & { readonly logProbability: number | null })[];
  }[];
}

/** A step of one text: whole characters, the token, and how it ended, if it did. */
export interface Piece {
  readonly prompt: number;
  readonly sample: number;
  readonly text: string;
  /** Tokens of this text so far. */
  readonly count: number;
  readonly tokens?: readonly ToldToken[];
  /** Where tokens are told and the model itself ended the text: how likely that was, and what else could have come. */
  readonly ended?: Pick<ToldToken, "logProbability" | "top" | "total">;
  readonly finish?: Sample["finish"];
}

/** Whose fault it is: what was asked cannot be, or the one who computes failed. */
export type Fault = "asked" | "failed";

/** An error as it travels: what programs go by, and the sentence. */
export interface ToldError {
  readonly fault: Fault;
  readonly code: string;
  readonly path?: string;
  readonly message: string;
}

/** What somebody who computes is. */
export interface ModelFacts {
  readonly task: ModelTask;
  readonly model: string;
  readonly parameters: number;
  readonly context: number;
  readonly vocab: number;
  readonly tokenizer: string;
  readonly labels: readonly string[];
  /** Where its way of reading conversations is from: it was made for them, or they are written as a plain text. */
  readonly chat: "own" | "plain" | "none";
  /** What stands for a hidden word, where it fills in such. */
  readonly mask?: string;
  readonly writes: boolean;
  readonly readsSource: boolean;
}

/** How much there is to do, and what it takes. */
export interface Load {
  /** Rows that go on, and requests that wait for one. */
  readonly rows: number;
  readonly waiting: number;
  /** Bytes of keys and values. */
  readonly kept: number;
  /** Bytes of the whole process. */
  readonly memory: number;
}

/** What comes from one who computes. */
export type FromModel =
  | { readonly id: number; readonly begun: Begun }
  | { readonly id: number; readonly piece: Piece }
  | { readonly id: number; readonly answer: Answers[AskKind]; readonly warnings: readonly string[] }
  | { readonly id: number; readonly error: ToldError }
  | { readonly ready: ModelFacts; readonly load: Load }
  | { readonly broken: ToldError }
  | { readonly pong: number; readonly load: Load };
