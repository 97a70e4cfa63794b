import { ConfigError, GraphError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { familyCalled } from "../hub/families.ts";
import { type EncoderConfig, encoderConfig, usualScores } from "../models/config.ts";
import { decoderName, lookingBack } from "../models/looking-back.ts";
import type { Weights } from "../weights/weights.ts";
import type { Task } from "./config.ts";
import { trainingDefaults } from "./defaults.ts";
import type { OpenRun } from "./folder.ts";
import { refuseAdapter } from "./parent.ts";

// A run or a model from outside that is trained for another task: labels or tags on top of what it knows. All but the head is carried over.

/** The run to go on from, for a task: as it is, or with a head that is new. */
export function parentFor(from: OpenRun, task: Task): OpenRun {
  const { folder, config } = from;
  if (config.task === task) return from;
  const model = task === "classify" || task === "tag" ? headed(from, task) : undefined;
  if (!model) throw otherTask(folder, config.task, task);
  refuseAdapter(from);
  const { labels: _labels, ...others } = config;
  const { batch, labelSmoothing, evalEvery, saveEvery, optimizer, lr } = trainingDefaults(
    task,
    {},
    { width: model.width, threads: config.training.threads },
  );
  const { momentum: _momentum, ...before } = config.training;
  // Muon was chosen for much text; on labels AdamW did better with 2,000 of them: see docs/encoders.md.
  const learning = config.training.optimizer === "muon" ? { ...before, optimizer, lr } : config.training;
  const training = { ...learning, batch, labelSmoothing, evalEvery, saveEvery };
  return { ...from, config: { ...others, task, model, training }, body: config.model };
}

function otherTask(folder: string, was: string, task: Task): ConfigError {
  const same = was === "mlm" && task === "lm" ? sentence`say ${setting("task", was)} for the same data` : sentence`give data for ${was}`;
  const cure = sentence`${same}, or train a new run for ${task} without ${setting("from")}`;
  return new ConfigError(sentence`${folder} was trained for ${was}, and the data is for ${task}, which has another output; ${cure}`, {
    code: "config.task",
    path: "from",
  });
}

/** The model with a head for labels or tags, of which there are two until the data says how many. */
function headed({ config: { model, hub } }: OpenRun, task: "classify" | "tag"): EncoderConfig | undefined {
  if (model.model === "decoder") return lookingBack(model, { task, labels: 2 });
  if (model.model !== "encoder") return undefined;
  const own = { pool: model.pool, pooler: "none" } as const;
  // Vectors of texts stay as they were gathered; other models of a family get the head that Python would give them.
  const gathering = model.task === "embed" || !hub ? own : (familyCalled(hub.family)?.classifier ?? own);
  const rest = { labels: 2, labelling: "one", normalise: false } as const;
  return encoderConfig({ ...model, ...usualScores, ...rest, task, ...(task === "classify" ? gathering : own) });
}

/** Numbers of a head: what is asked of it is new, so they are too. */
const isHead = (name: string): boolean => /^encoder\/(labels|pooler)\//.test(name);

/** Puts all but the head of a model into one with another head; gives what is new. Of a head, what lies unread beside the model is known too. */
export function carryBody(into: ParameterBuffer, from: ParameterBuffer, { config, body }: OpenRun, unread?: Weights["unread"]): string[] {
  const fresh: string[] = [];
  const beside = besideOf(config, unread);
  const known = new Set(from.layout.entries.map(({ name }) => name));
  for (const { name, shape, offset } of into.layout.entries) {
    if (isHead(name)) {
      const found = beside(name, shape);
      if (found) into.data.set(found, offset);
      else fresh.push(name);
      continue;
    }
    const own = body?.model === "decoder" ? decoderName(name) : name;
    const source = known.has(own) ? from.view(own) : undefined;
    if (source?.shape.slice(1).join() !== shape.slice(1).join() || source.shape[0] > shape[0])
      throw new GraphError(`the parameter "${name}" [${shape}] cannot be that of the model it begins from, [${source?.shape ?? "none"}]`);
    into.data.set(source.data as Float32Array, offset);
  }
  return fresh;
}

/** A parameter of a head among the tensors that a model did not read: BERT's pooler lies beside many that have no use for it. */
function besideOf({ model, hub }: OpenRun["config"], unread: Weights["unread"] = new Map()) {
  const family = hub && familyCalled(hub.family);
  const rules = new Map(family?.classifier && model.model === "encoder" ? family.tensors(model).map((rule) => [rule.ours, rule]) : []);
  return (name: string, shape: readonly number[]): Float32Array | undefined => {
    const rule = rules.get(name);
    if (!family || !rule || !("theirs" in rule) || rule.theirs.length !== 1) return undefined;
    const [{ name: theirs }] = rule.theirs;
    const found = unread.get(theirs) ?? unread.get(theirs.slice(family.prefix.length));
    return found?.shape.join() === shape.join() ? found.numbers() : undefined;
  };
}

/** What is said of a head that is new. */
export const newHeadSentence = (folder: string, fresh: readonly string[], numbers: number): string =>
  `the head is new: ${fresh.join(", ")} (${numbers.toLocaleString("en")} numbers) start at random; everything else is that of ${folder}`;
