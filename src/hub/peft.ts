import * as z from "zod";
import type { HostArray } from "../base/arrays.ts";
import { FormatError } from "../base/errors.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import { type AdaptedMatrix, addProduct, type Lora, linearMatrices } from "../models/lora.ts";
import { listed, quoted } from "../text/quote.ts";
import type { Change } from "../weights/adapted.ts";
import type { Family, Piece } from "./family.ts";

// Adapters as PEFT writes them: adapter_config.json, and two narrow matrices for each module, under its name in the family's own words.

/** A module that can have an adapter, and the rows of our matrix that it is. */
export interface PeftModule {
  /** Such as `model.layers.0.self_attn.q_proj`. */
  readonly name: string;
  /** Our parameter [out, in]. */
  readonly ours: string;
  readonly at: number;
  readonly rows: number;
  /** How many rows theirs has: more, where it is also a part of another matrix of ours, as Phi-3's gate_up_proj. */
  readonly theirRows: number;
  readonly from: number;
  /** Row i of ours is row `order[i]` of theirs. */
  readonly order?: readonly number[];
  /** Whether they keep the matrix [in, out]; its adapter has the usual shapes all the same. */
  readonly turned?: boolean;
}

/** Every module of a model that can have an adapter: under the names of its family, or, where it has none, under our own. */
export function peftModules(model: ModelConfig, family?: Family): PeftModule[] {
  const matrices = linearMatrices(modelLoss(model));
  if (!family || model.model === "own") return matrices.flatMap(ownModules);
  const rules = new Map(family.tensors(model).map((rule) => [rule.ours, rule]));
  return matrices.flatMap(({ name, from }) => {
    const rule = rules.get(name);
    if (!rule || !("theirs" in rule)) return [];
    let at = 0;
    return rule.theirs.map((piece) => {
      const rows = rowsOf(piece);
      at += rows;
      const { turn } = piece;
      return {
        name: piece.name.replace(/\.weight$/, ""),
        ours: name,
        at: at - rows,
        rows,
        theirRows: piece.shape[turn?.kind === "transpose" ? 1 : 0],
        from,
        ...(turn?.kind === "rows" && { order: turn.rows }),
        ...(turn?.kind === "transpose" && { turned: true }),
      };
    });
  });
}

const rowsOf = ({ shape, turn }: Piece): number => (turn?.kind === "rows" ? turn.rows.length : shape[turn?.kind === "transpose" ? 1 : 0]);

/** Our own names: the place of a matrix, and of queries, keys and values in one the part. */
function ownModules({ name, out, from, joined }: ReturnType<typeof linearMatrices>[number]): PeftModule[] {
  const place = name.replace(/\/weight$/, "").replaceAll("/", ".");
  const whole = { name: place, ours: name, at: 0, rows: out, theirRows: out, from };
  if (!joined) return [whole];
  const [q, k] = joined;
  const starts = [0, q, q + k];
  const part = (i: number) => ({ ours: name, at: starts[i], rows: joined[i], theirRows: joined[i], from });
  return [whole, ...["q", "k", "v"].map((which, i) => ({ name: `${place}.${which}`, ...part(i) }))];
}

/** Whether queries, keys and values, joined here, are one matrix of the family too, and so adapted as one. */
export function joinedInFamily(model: ModelConfig, family: Family | undefined): boolean {
  if (!family) return false;
  const wholes = new Map(linearMatrices(modelLoss(model)).map(({ name, out, joined }) => [name, joined ? out : 0]));
  return peftModules(model, family).some(({ ours, rows }) => wholes.get(ours) === rows);
}

const prefix = "base_model.model.";

const isModuleOf =
  ({ name }: AdaptedMatrix, { at, rows }: { at: number; rows: number }) =>
  (module: PeftModule): boolean =>
    module.ours === name && module.at === at && module.rows === rows && module.theirRows === rows;

/** The targets whose adapters have a name there. */
export const namedTargets = (matrices: readonly AdaptedMatrix[], modules: readonly PeftModule[]): ReadonlySet<string> => {
  const named = (matrix: AdaptedMatrix) => matrix.parts.filter((part) => modules.some(isModuleOf(matrix, part)));
  return new Set(matrices.flatMap((matrix) => named(matrix).map(({ target }) => target)));
};

/** What an adapter of ours is called there. */
function moduleOf(modules: readonly PeftModule[], matrix: AdaptedMatrix, part: { at: number; rows: number }): PeftModule {
  const found = modules.find(isModuleOf(matrix, part));
  const [{ name }, { at, rows }] = [matrix, part];
  if (!found) throw new FormatError(`the family has no matrix for rows ${at} to ${at + rows} of ${name}, so its adapter has no name`);
  return found;
}

/** The tensors of an adapter of ours, as PEFT names them. */
export function peftTensors(
  matrices: readonly AdaptedMatrix[],
  modules: readonly PeftModule[],
  adapter: ParameterBuffer,
): (readonly [string, HostArray])[] {
  return matrices.flatMap((matrix) =>
    matrix.parts.flatMap((part) => {
      const { name, order } = moduleOf(modules, matrix, part);
      const [a, b] = [adapter.view(part.a), adapter.view(part.b)];
      return [
        [`${prefix}${name}.lora_A.weight`, a] as const,
        [`${prefix}${name}.lora_B.weight`, order ? { ...b, data: scattered(b.data as Float32Array, order) } : b] as const,
      ];
    }),
  );
}

/** The other way: the numbers under our names. What is no part of the adapter is left under its own. */
export function oursOfPeft(
  matrices: readonly AdaptedMatrix[],
  modules: readonly PeftModule[],
  tensors: ReadonlyMap<string, HostArray>,
): Map<string, HostArray> {
  const names = new Map<string, { readonly ours: string; readonly order?: readonly number[] }>();
  for (const matrix of matrices)
    for (const part of matrix.parts) {
      const { name, order } = moduleOf(modules, matrix, part);
      names.set(`${prefix}${name}.lora_A.weight`, { ours: part.a });
      names.set(`${prefix}${name}.lora_B.weight`, { ours: part.b, order });
    }
  return new Map(
    [...tensors].map(([name, array]) => {
      const { ours = name, order } = names.get(name) ?? {};
      return [ours, order ? { ...array, data: gathered(array.data as Float32Array, order, array.shape[1]) } : array];
    }),
  );
}

/** Rows of ours in their order. */
function scattered(numbers: Float32Array, order: readonly number[]): Float32Array {
  const [result, width] = [new Float32Array(numbers.length), numbers.length / order.length];
  for (const [i, to] of order.entries()) result.set(numbers.subarray(i * width, (i + 1) * width), to * width);
  return result;
}

/** Rows of theirs in our order. */
function gathered(numbers: Float32Array, order: readonly number[], width: number): Float32Array {
  const result = new Float32Array(order.length * width);
  for (const [i, from] of order.entries()) result.set(numbers.subarray(from * width, (from + 1) * width), i * width);
  return result;
}

/** adapter_config.json of an adapter of ours. */
export function peftConfig(
  { rank, alpha, dropout }: Lora,
  { matrices, modules, base, task }: { matrices: readonly AdaptedMatrix[]; modules: readonly PeftModule[]; base: string; task: string },
): Readonly<Record<string, unknown>> {
  const adapted = matrices.flatMap((matrix) => matrix.parts.map((part) => moduleOf(modules, matrix, part)));
  return {
    base_model_name_or_path: base,
    bias: "none",
    fan_in_fan_out: adapted.some(({ turned }) => turned),
    inference_mode: true,
    init_lora_weights: true,
    lora_alpha: alpha,
    lora_dropout: dropout,
    modules_to_save: null,
    peft_type: "LORA",
    r: rank,
    target_modules: endingsOf(
      adapted.map(({ name }) => name),
      modules.map(({ name }) => name),
    ),
    task_type: { lm: "CAUSAL_LM", translate: "SEQ_2_SEQ_LM" }[task] ?? null,
    use_dora: false,
    use_rslora: false,
  };
}

/** The shortest endings that these modules have, and no other: GPT-2 has a c_proj in its attention and one in its feed-forward layer. */
function endingsOf(wanted: readonly string[], all: readonly string[]): string[] {
  const own = new Set(wanted);
  const ends = (name: string, ending: string) => name === ending || name.endsWith(`.${ending}`);
  const shortest = (name: string): string => {
    const parts = name.split(".");
    for (let count = 1; count < parts.length; count++) {
      const ending = parts.slice(-count).join(".");
      if (all.every((other) => own.has(other) || !ends(other, ending))) return ending;
    }
    return name;
  };
  return [...new Set(wanted.map(shortest))].sort();
}

const configSchema = z.looseObject({
  peft_type: z.string(),
  r: z.int().min(1).max(65_536),
  lora_alpha: z.number(),
  use_rslora: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  bias: z.string().nullish(),
  lora_bias: z.boolean().nullish(),
  modules_to_save: z.array(z.string()).nullish(),
  init_lora_weights: z.union([z.boolean(), z.string()]).nullish(),
  rank_pattern: z.record(z.string(), z.int().min(1)).nullish(),
  alpha_pattern: z.record(z.string(), z.number()).nullish(),
});

/** Kinds of LoRA that compute something else. */
const variants = [
  "trainable_token_indices",
  "layer_replication",
  "target_parameters",
  "alora_invocation_tokens",
  "arrow_config",
  "kasa_config",
  "monteclora_config",
  "megatron_config",
  "use_qalora",
  "use_bdlora",
];

const isThere = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.keys(value).length > 0 : value !== undefined && value !== null && value !== false;

export type PeftConfig = z.output<typeof configSchema>;

/** adapter_config.json, checked: what changes the computation and is not known is told all at once. */
export function parsePeftConfig(given: unknown, file: string): PeftConfig {
  const found = configSchema.safeParse(given);
  if (!found.success) {
    const [issue] = found.error.issues;
    throw new FormatError(`not the config of a LoRA adapter: ${issue.path.join(".") || "the file"}: ${issue.message}`, { file });
  }
  const config = found.data;
  const problems = [
    ...(config.peft_type === "LORA" ? [] : [`peft_type ${quoted(config.peft_type)} (only LORA)`]),
    ...(config.use_dora ? ["use_dora"] : []),
    ...(config.bias && config.bias !== "none" ? [`bias ${quoted(config.bias)} (only none)`] : []),
    ...(config.lora_bias ? ["lora_bias"] : []),
    ...(config.modules_to_save?.length ? [`modules_to_save ${listed(config.modules_to_save)}`] : []),
    ...variants.filter((key) => isThere(config[key])),
    ...(typeof config.init_lora_weights === "string" && /^(pissa|olora|loftq|corda)/.test(config.init_lora_weights)
      ? [`init_lora_weights ${quoted(config.init_lora_weights)}, which changes the base too`]
      : []),
  ];
  if (problems.length > 0)
    throw new FormatError(
      `this adapter has what is not read here: ${problems.join("; ")}. Merge it in Python (merge_and_unload) and open the result`,
      { file },
    );
  return config;
}

const tensorName = /^(?:base_model\.model\.)?(.+)\.lora_([AB])(?:\.[^.]+)?\.weight$/;

/** The two matrices of a module of theirs, and what it is of ours. */
interface Narrow {
  readonly modules: readonly PeftModule[];
  readonly a?: HostArray;
  readonly b?: HostArray;
}

/** What an adapter of PEFT's adds to our matrices. Modules that are not the model's, and wrong shapes, are told all at once. */
export function peftChanges(
  config: PeftConfig,
  tensors: ReadonlyMap<string, HostArray>,
  { modules, family, where }: { modules: readonly PeftModule[]; family?: Pick<Family, "prefix">; where: string },
): Map<string, Change> {
  const known = new Map<string, PeftModule[]>();
  for (const module of modules) known.set(module.name, [...(known.get(module.name) ?? []), module]);
  const found = new Map<string, Narrow>();
  const [strange, wrong]: [string[], string[]] = [[], []];
  for (const [name, array] of tensors) {
    const [, module = "", side] = tensorName.exec(name) ?? [];
    const own = known.get(module) ?? known.get(`${family?.prefix ?? ""}${module}`);
    if (!own) {
      strange.push(name);
      continue;
    }
    const narrow = found.get(own[0].name) ?? { modules: own };
    found.set(own[0].name, side === "A" ? { ...narrow, a: array } : { ...narrow, b: array });
  }
  for (const [name, { modules: own, a, b }] of found) {
    const rank = a?.shape[0] ?? b?.shape[1] ?? 0;
    const { theirRows, from } = own[0];
    const fits = a?.shape.join() === `${rank},${from}` && b?.shape.join() === `${theirRows},${rank}`;
    if (!fits) wrong.push(`${name} has A [${a?.shape ?? "none"}] and B [${b?.shape ?? "none"}] beside [${theirRows}, ${from}]`);
  }
  const problems = [
    ...(strange.length > 0 ? [`tensors that are no adapter of this model: ${listed(strange)}`] : []),
    ...(wrong.length > 0 ? [`of another shape: ${wrong.slice(0, 8).join("; ")}${wrong.length > 8 ? " …" : ""}`] : []),
    ...(found.size === 0 && strange.length === 0 ? ["no tensors"] : []),
  ];
  if (problems.length > 0)
    throw new FormatError(`${where}: the adapter does not fit this model; ${problems.join("; ")}. Was it trained for it?`);
  return changes(config, [...found.values()]);
}

function changes(config: PeftConfig, narrow: readonly Narrow[]): Map<string, Change> {
  const byMatrix = new Map<string, Change[]>();
  for (const { modules, a, b } of narrow) {
    const [first, second] = [a?.data as Float32Array, b?.data as Float32Array];
    const rank = a?.shape[0] ?? 0;
    for (const { name, ours, at, rows, from, order } of modules) {
      const alpha = patternOf(config.alpha_pattern, name) ?? config.lora_alpha;
      const given = patternOf(config.rank_pattern, name) ?? config.r;
      const scale = alpha / (config.use_rslora ? Math.sqrt(given) : given);
      const change: Change = (into) =>
        addProduct(into, from, { at, rows, a: first, b: order ? gathered(second, order, rank) : second, rank, scale });
      byMatrix.set(ours, [...(byMatrix.get(ours) ?? []), change]);
    }
  }
  return new Map([...byMatrix].map(([name, list]) => [name, (into: Float32Array) => list.forEach((change) => void change(into))]));
}

/** What a pattern says of a module: the ending of its name is the key. */
const patternOf = (pattern: Readonly<Record<string, number>> | null | undefined, module: string): number | undefined =>
  Object.entries(pattern ?? {}).find(([key]) => module === key || module.endsWith(`.${key}`))?.[1];
