import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { type InputTensors, type InputTypes, type TensorFunction, tensorFunction } from "../graph/graph.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32, showShape } from "../graph/type.ts";
import type { Task } from "../text/columns.ts";
import { final, nextToken } from "./continuation.ts";
import { type LossOptions, modeOf, scored } from "./losses.ts";
import { effective, type Mode } from "./mode.ts";

// A model of one's own: a function from what is fed to scores. All that is asked of any model is answered here from that one function.

/** Settings go into config.json, so they are plain values. */
export type Settings = Readonly<Record<string, number | string | boolean>>;

const textInputs = {
  lm: { ids: int32(["batch", "time"]) },
  classify: { ids: int32(["batch", "time"]), lengths: int32(["batch"]) },
  tag: { ids: int32(["batch", "time"]), lengths: int32(["batch"]) },
  mlm: { ids: int32(["batch", "time"]), lengths: int32(["batch"]) },
  translate: { source: int32(["batch", "sourceTime"]), lengths: int32(["batch"]), target: int32(["batch", "time"]) },
} as const satisfies Readonly<Record<Task, InputTypes>>;
type TextInputs = typeof textInputs;

/** What a model of one's own declares. */
export interface ModelDefinition<S extends Settings, T extends Task, I extends InputTypes = TextInputs[T]> {
  /** What it is called in errors, and in the config.json of its runs. */
  readonly name: string;
  /** What its scores are of: the next token (lm), a whole example (classify), each position (tag), the token at each position (mlm), the next token of a target (translate). */
  readonly task: T;
  /**
   * Every setting, with the value that it has unless another is given. One that reads ids has `vocab` and `context`; one that labels has
   * `labels`. `dropout`, if there is one, is 0 outside training.
   */
  readonly settings: S;
  /** What it is fed, if that is not the ids of a text. */
  inputs?(settings: S): I;
  /** The scores: [batch, time, vocab] of an lm or mlm, [batch, labels] of a classifier, [batch, time, labels] of a tagger. */
  scores(p: Scope, inputs: InputTensors<I>, settings: S, mode: Mode): Tensor;
  /** For one that is unrolled over time, as an RNN is: every length is then compiled by itself. */
  readonly unrolled?: boolean;
}

/** A model of one's own with settled sizes: a value like any model's config. Its functions are left out where it is written as JSON. */
export interface OwnModel {
  readonly model: "own";
  readonly name: string;
  readonly task: Task;
  /** How many ids there are; 0 where it reads none. */
  readonly vocab: number;
  /** The most positions; 0 where it reads no ids. */
  readonly context: number;
  readonly settings: Settings;
  /** The ids of texts, or what its definition says that it is fed. */
  readonly reads: "text" | "other";
  readonly unrolled?: boolean;
  /** What it is trained on; its outputs are `loss` and `scores`. */
  loss(options: LossOptions): TensorFunction;
  /** The scores of the token after the last, [batch, vocab], from all tokens at once; for one that writes. */
  whole(): TensorFunction;
  /** What it was made by: the same model with other settings. */
  readonly define: Definition;
}

/** A model that a program knows by name, as its runs are opened again. */
export interface Definition {
  readonly definition: string;
  /** The model with the settings that a config.json has. */
  of(settings: Readonly<Record<string, unknown>>): OwnModel;
}

/** Makes a model: with the usual settings, or others for some of them. */
export interface Define<S extends Settings> extends Definition {
  (given?: Partial<S>): OwnModel;
}

/** A model of one's own, from a function that scores. */
export function defineModel<S extends Settings, const T extends Task, I extends InputTypes = TextInputs[T]>(
  definition: ModelDefinition<Widened<S>, T, I>,
): Define<Widened<S>> {
  const { name, task, settings: usual, unrolled } = definition;
  const make = (given: Readonly<Record<string, unknown>>): OwnModel => {
    const settings = checked(name, usual, given) as Widened<S>;
    const inputs = (definition.inputs?.(settings) ?? textInputs[task]) as I;
    const { vocab, context } = sizesOf(name, settings, inputs);
    const scores = (p: Scope, fed: InputTensors<I>, mode: Mode) =>
      fitting(name, task, settings, definition.scores(p, fed, effective(settings, mode), mode));
    return {
      model: "own",
      name,
      task,
      vocab,
      context,
      settings,
      reads: definition.inputs ? "other" : "text",
      ...(unrolled && { unrolled }),
      loss: (options) =>
        tensorFunction({ ...inputs, targets: targetsOf(task) }, (p, { targets, ...fed }) =>
          scored(scores(p, fed as unknown as InputTensors<I>, modeOf(options)), targets as Tensor, options),
        ),
      whole: () => nextOf(task, (p, fed) => scores(p, fed as InputTensors<I>, {})),
      define,
    };
  };
  const define = Object.assign((given: Partial<Widened<S>> = {}) => make(given), { definition: name, of: make });
  return define;
}

/** A setting may have any value of its kind, not only its usual one. */
type Widened<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends number ? number : S[K] extends boolean ? boolean : S[K];
};

const targetsOf = (task: Task) => int32(task === "classify" ? ["batch"] : ["batch", "time"]);

/** The next token from all tokens so far: of the text, or of the target of a source. */
function nextOf(task: Task, scores: (p: Scope, fed: Readonly<Record<string, Tensor>>) => Tensor): TensorFunction {
  const ids = textInputs.lm.ids;
  if (task !== "translate") return tensorFunction({ ids }, (p, fed) => nextToken(final(scores(p, fed))));
  const { source, lengths } = textInputs.translate;
  return tensorFunction({ ids, source, lengths }, (p, { ids: target, ...rest }) => nextToken(final(scores(p, { ...rest, target }))));
}

function checked(name: string, usual: Settings, given: Readonly<Record<string, unknown>>): Settings {
  const chosen = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [key, value] of chosen) {
    const place = { at: `config.${key}`, path: `model.${key}` };
    if (!Object.hasOwn(usual, key))
      throw new ConfigError(`the model "${name}" has no such setting${suggest(key, Object.keys(usual))}`, {
        code: "config.unknown-key",
        ...place,
      });
    if (typeof value !== typeof usual[key])
      throw new ConfigError(`the model "${name}" wants a ${typeof usual[key]} here, not ${JSON.stringify(value)}`, {
        code: "config.type",
        ...place,
      });
  }
  return { ...usual, ...Object.fromEntries(chosen) } as Settings;
}

/** The sizes that everything around a model asks for. */
function sizesOf(name: string, settings: Settings, inputs: InputTypes): { vocab: number; context: number } {
  const readsIds = Object.values(inputs).some(({ dtype }) => dtype === "int32");
  const size = (key: "vocab" | "context"): number => {
    const value = settings[key];
    if (Number.isInteger(value) && (value as number) > 0) return value as number;
    if (value === undefined && !readsIds) return 0;
    throw new ConfigError(`the model "${name}" reads ids, so it needs a setting "${key}", a whole number from 1 on, not ${value}`, {
      code: "config.type",
      at: `config.${key}`,
      path: `model.${key}`,
    });
  };
  return { vocab: size("vocab"), context: size("context") };
}

/** Refuses scores of another shape than the task's. */
function fitting(name: string, task: Task, settings: Settings, scores: Tensor): Tensor {
  const over = task === "classify" || task === "tag" ? "labels" : "vocab";
  const wanted = [...(task === "classify" ? ["batch"] : ["batch", "time"]), over];
  const { shape } = scores;
  const last = shape.at(-1)?.value;
  if (shape.length === wanted.length && last === settings[over]) return scores;
  throw new ConfigError(
    `the model "${name}" is for ${task}, so its scores are [${wanted.join(", ")}] with ${over} = ${settings[over]}, not ${showShape(shape)}`,
    { code: "config.type" },
  );
}
