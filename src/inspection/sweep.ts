import { array, type HostArray } from "../base/arrays.ts";
import { ConfigError, DataError } from "../base/errors.ts";
import { modelLoss, takesAnyLength } from "../models/any.ts";
import { compile } from "../runtime/compile.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { answerName, answersOf, highestPlaces, rowsOf } from "./answers.ts";
import { observe } from "./observe.ts";
import { type Reading, type ReadingOptions, readingOf } from "./reading.ts";
import { chosenTaps, type TapInfo } from "./taps.ts";
import { probabilityIn, repeated } from "./variants.ts";

// Activation patching, place by place: of a tap one position or one head is replaced at a time, and each time the answer is asked for.

export interface SweepOptions extends ReadingOptions {
  readonly tap: string;
  readonly over: "position" | "head";
  /** The text whose numbers are taken; 0 is taken if left out. */
  readonly from?: string;
  readonly fromTarget?: string;
  /** The answer whose probability is asked for, by its place in the vocabulary or among the labels; the likeliest if left out. */
  readonly answer?: number;
  /** Where it is given; the last position if left out. */
  readonly position?: number;
}

export interface Swept {
  readonly answer: { readonly id: number; readonly name: string; readonly position: number };
  /** How likely it is for this text, and for the other. */
  readonly before: number;
  readonly other?: number;
  /** How likely it is with each position, or head, replaced. */
  readonly after: readonly number[];
}

export async function sweep(run: TrainedModel, text: string, options: SweepOptions): Promise<Swept> {
  const { tap: name, over, from, fromTarget, answer, position, ...rest } = options;
  const [tap] = chosenTaps(run.model, [name]);
  const axis = tap.axes.findIndex((one) => (over === "head" ? one === "head" : one === "time" || one === "query" || one === "key"));
  if (axis < 0) throw new ConfigError(`the tap ${tap.name} is [${tap.axes.join(", ")}] and has no ${over}s to go over`, { path: "over" });
  const reading = await readingOf(run, text, rest);
  const before = rowsOf((await answersOf(run, reading)).logProbabilities);
  const at = placeOf(before.length, position);
  const id = answer ?? highestPlaces(before[at], 1)[0];
  if (!(id >= 0 && id < before[at].length))
    throw new ConfigError(`there is no answer ${id}; there are ${before[at].length}, counted from 0`, { path: "answer" });
  const given = from === undefined ? undefined : await readingOf(run, from, { ...rest, target: fromTarget ?? rest.target });
  const own = (await observe(run, reading, { taps: [tap.name] }))[tap.name];
  const put = given ? (await observe(run, given, { taps: [tap.name] }))[tap.name] : undefined;
  refuseOther(tap, own, put);
  const other = given && rowsOf((await answersOf(run, given)).logProbabilities)[at];
  return {
    answer: { id, name: answerName(run, id), position: at },
    before: Math.exp(before[at][id]),
    ...(other && { other: Math.exp(other[id]) }),
    after: await replacedEach(run, reading, { tap: tap.name, own, put, axis: axis + 1 }, { at, id }),
  };
}

function placeOf(count: number, asked = count - 1): number {
  if (Number.isInteger(asked) && asked >= 0 && asked < count) return asked;
  throw new ConfigError(`there is no position ${asked} to ask for; there are ${count}, counted from 0`, { path: "position" });
}

function refuseOther({ name }: TapInfo, own: HostArray, put: HostArray | undefined): void {
  if (!put || put.shape.join() === own.shape.join()) return;
  throw new DataError(
    `the tap ${name} is [${own.shape.slice(1).join(", ")}] for one text and [${put.shape.slice(1).join(", ")}] for the other; swap between texts of as many tokens`,
    { path: "from" },
  );
}

interface Places {
  readonly tap: string;
  readonly own: HostArray;
  readonly put: HostArray | undefined;
  /** The batch is axis 0. */
  readonly axis: number;
}

/** As many variants at once, and no more numbers of answers than these. */
const rowsAtOnce = 16;
const mostScores = 2 ** 24;

async function replacedEach(
  run: TrainedModel,
  { feeds, signal }: Reading,
  { tap, own, put, axis }: Places,
  { at, id }: { readonly at: number; readonly id: number },
): Promise<number[]> {
  const { model, device, weights } = run;
  const count = own.shape[axis];
  const inner = own.shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const size = own.data.length;
  const time = Math.max(...own.shape.slice(1, -1), 1);
  // Every batch is equally large, its last rows perhaps in vain: a model of fixed sizes is then compiled once.
  const rows = Math.max(1, Math.min(rowsAtOnce, count, Math.floor(mostScores / (time * model.vocab))));
  const many = Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, repeated(value, rows)]));
  const found: number[] = [];
  for (let first = 0; first < count; first += rows) {
    signal?.throwIfAborted();
    const variants = new Float32Array(rows * size);
    for (let i = 0; i < variants.length; i++) {
      const [row, place] = [Math.floor(i / size), i % size];
      const replaced = Math.floor(place / inner) % count === first + row;
      variants[i] = replaced ? (put ? Number(put.data[place]) : 0) : Number(own.data[place]);
    }
    const { scores } = await run.use(
      `sweep ${tap}`,
      () =>
        compile(modelLoss(model, { training: false }), {
          device,
          symbols: takesAnyLength(model) ? "open" : "bound",
          outputs: ["scores"],
          patches: [tap],
        }),
      (compiled) =>
        compiled.run({ ...many, [tap]: array("float32", variants, [rows, ...own.shape.slice(1)]) }, { weights: weights.buffer }),
    );
    found.push(...probabilityIn(run, scores, Math.min(rows, count - first), at, id));
  }
  return found;
}
