import { array, type HostArray } from "../base/arrays.ts";
import type { Chance } from "../base/chance.ts";
import { DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { type Batch, type Batches, ignored, rowsOf, wholeBatch } from "./batch.ts";
import { bucketLengths, bucketOf } from "./buckets.ts";
import { permutation } from "./permutation.ts";

// Batches of examples of different lengths: those of like length come together, so that little is padding.

/** A text with one label. */
export interface LabelledIds {
  readonly ids: Int32Array;
  readonly label: number;
}

/** A text with 1 or 0 for each label. */
export interface SeveralIds {
  readonly ids: Int32Array;
  readonly there: Uint8Array;
}

/** A text with a label, or none (−1), for each token. */
export interface TaggedIds {
  readonly ids: Int32Array;
  readonly tags: Int32Array;
}

/** A source, what the decoder reads (`<s>` first) and what it should say (`</s>` last). */
export interface PairIds {
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly targets: Int32Array;
}

/** A text, and for each token the one that should follow, or none (−1) where nothing is learned. */
export interface AnsweredIds {
  readonly ids: Int32Array;
  readonly targets: Int32Array;
}

/** How examples of one kind are laid out. */
export interface Layout<Example> {
  /** The lengths that are padded: one, or source and target. */
  lengths(example: Example): readonly number[];
  /** A batch with so many rows and lengths; rows beyond the examples are empty. */
  batch(examples: readonly Example[], rows: number, sizes: readonly number[]): Batch;
  /** Where the part begins that is left of an example longer than the context; at its first token, where nothing else is said. */
  readonly begin?: (example: Example, context: number) => number;
}

export const labelledLayout: Layout<LabelledIds> = {
  lengths: ({ ids }) => [ids.length],
  batch: (examples, rows, [time]) => ({
    feeds: {
      ...texts(examples, rows, time),
      targets: array(
        "int32",
        Int32Array.from({ length: rows }, (_, row) => examples[row]?.label ?? ignored),
      ),
    },
    targets: examples.length,
    tokens: read(examples.map(({ ids }) => ids)),
    places: rows * time,
  }),
};

export const severalLayout: Layout<SeveralIds> = {
  lengths: ({ ids }) => [ids.length],
  batch: (examples, rows, [time]) => {
    const labels = examples[0]?.there.length ?? 0;
    const targets = new Int32Array(rows * labels).fill(ignored);
    for (const [row, { there }] of examples.entries()) targets.set(there, row * labels);
    return {
      feeds: { ...texts(examples, rows, time), targets: array("int32", targets, [rows, labels]) },
      targets: examples.length * labels,
      tokens: read(examples.map(({ ids }) => ids)),
      places: rows * time,
    };
  },
};

export const taggedLayout: Layout<TaggedIds> = {
  lengths: ({ ids }) => [ids.length],
  batch: (examples, rows, [time]) => {
    const tags = examples.map((example) => example.tags);
    return {
      feeds: { ...texts(examples, rows, time), targets: padded(tags, rows, time, ignored) },
      targets: counted(tags),
      tokens: read(tags),
      places: rows * time,
    };
  },
};

export const pairLayout: Layout<PairIds> = {
  lengths: ({ source, target }) => [source.length, target.length],
  batch: (examples, rows, [sourceTime, time]) => {
    const sources = examples.map(({ source }) => source);
    const targets = examples.map((example) => example.targets);
    const target = examples.map((example) => example.target);
    return {
      feeds: {
        source: padded(sources, rows, sourceTime),
        lengths: lengthsOf(sources, rows),
        target: padded(target, rows, time),
        targets: padded(targets, rows, time, ignored),
      },
      targets: counted(targets),
      tokens: read(sources) + read(target),
      places: rows * (sourceTime + time),
    };
  },
};

export const answeredLayout: Layout<AnsweredIds> = {
  lengths: ({ ids }) => [ids.length],
  batch: (examples, rows, [time]) => {
    const [ids, targets] = [examples.map((example) => example.ids), examples.map((example) => example.targets)];
    return {
      feeds: { ids: padded(ids, rows, time), targets: padded(targets, rows, time, ignored) },
      targets: counted(targets),
      tokens: read(ids),
      places: rows * time,
    };
  },
  begin: answeredBegin,
};

/**
 * The beginning of a prompt goes first, as it does when a model is asked, until half of the context is left for it; then the end of the
 * answer. So there is always something to learn.
 */
function answeredBegin({ ids, targets }: AnsweredIds, context: number): number {
  const first = targets.findIndex((target) => target !== ignored);
  return Math.min(ids.length - context, Math.max(0, first + 1 - Math.max(1, context >> 1)));
}

const texts = (examples: readonly { readonly ids: Int32Array }[], rows: number, time: number) => {
  const ids = examples.map((example) => example.ids);
  return { ids: padded(ids, rows, time), lengths: lengthsOf(ids, rows) };
};

const lengthsOf = (sequences: readonly Int32Array[], rows: number): HostArray =>
  array(
    "int32",
    Int32Array.from({ length: rows }, (_, row) => sequences[row]?.length ?? 0),
  );

function padded(sequences: readonly Int32Array[], rows: number, length: number, filler = 0): HostArray {
  const data = new Int32Array(rows * length).fill(filler);
  for (const [row, sequence] of sequences.entries()) data.set(sequence, row * length);
  return array("int32", data, [rows, length]);
}

const read = (sequences: readonly Int32Array[]): number => sequences.reduce((total, { length }) => total + length, 0);

const counted = (targets: readonly Int32Array[]): number =>
  targets.reduce((total, row) => total + row.reduce((sum, target) => sum + (target === ignored ? 0 : 1), 0), 0);

export interface BucketOptions {
  readonly batch: number;
  /** "few" where each shape costs a session of its own, "any" where it does not. */
  readonly shapes: "few" | "any";
}

export interface ExampleBatches extends Batches {
  /** The share of all places that is padding, 0–1. */
  readonly padding: number;
}

interface Bucket<Example> {
  readonly sizes: readonly number[];
  readonly examples: readonly Example[];
}

/** Training batches: every example once an epoch, in an order that follows from the chance and the epoch. */
export function trainingBatches<Example>(
  examples: readonly Example[],
  layout: Layout<Example>,
  { batch, shapes }: BucketOptions,
  chance: Chance,
): ExampleBatches {
  if (examples.length < batch)
    throw new DataError(
      sentence`${examples.length === 1 ? "there is 1 example" : `there are ${examples.length} examples`} to train on, fewer than a batch of ${batch}; give more, or a smaller ${setting("batch")}`,
      { code: "data.too-little" },
    );
  const buckets = bucketed(examples, layout, { batch, shapes });
  const owners = buckets.flatMap((bucket) =>
    Array.from({ length: Math.ceil(bucket.examples.length / batch) }, (_, part) => ({ bucket, part })),
  );
  let current: { epoch: number; order: (place: number) => number; inside: Map<Bucket<Example>, (place: number) => number> } | undefined;
  const batches: Batches = {
    perEpoch: owners.length,
    batch(index, slice = wholeBatch) {
      const epoch = Math.floor(index / owners.length);
      if (current?.epoch !== epoch) {
        const source = chance.fork("examples").fork(epoch);
        const inside = new Map(buckets.map((bucket, i) => [bucket, permutation(bucket.examples.length, source.fork("bucket").fork(i))]));
        current = { epoch, order: permutation(owners.length, source), inside };
      }
      const { bucket, part } = owners[current.order(index % owners.length)];
      const place = current.inside.get(bucket) as (place: number) => number;
      const count = Math.min(batch, bucket.examples.length - part * batch);
      const rows = rowsOf(shapes === "few" ? batch : count, slice);
      const real = Math.max(0, Math.min(count - rows.first, rows.count)); // the others are empty
      const own = Array.from({ length: real }, (_, row) => bucket.examples[place(part * batch + rows.first + row)]);
      return { ...layout.batch(own, rows.count, bucket.sizes), rows };
    },
  };
  return { ...batches, padding: paddingOf(buckets, layout, batch, shapes) };
}

/** Every example once, in buckets, with its place in the list beside it. */
export function* scoringBatches<Example>(
  examples: readonly Example[],
  layout: Layout<Example>,
  { batch, shapes }: BucketOptions,
): Generator<Batch & { readonly places: number; readonly members: readonly number[] }> {
  const numbered = examples.map((example, place) => ({ example, place }));
  const inner: Layout<{ example: Example; place: number }> = {
    lengths: ({ example }) => layout.lengths(example),
    batch: (rows, count, sizes) =>
      layout.batch(
        rows.map(({ example }) => example),
        count,
        sizes,
      ),
  };
  for (const { sizes, examples: own } of bucketed(numbered, inner, { batch, shapes })) {
    for (let first = 0; first < own.length; first += batch) {
      const rows = own.slice(first, first + batch);
      yield { ...inner.batch(rows, shapes === "few" ? batch : rows.length, sizes), members: rows.map(({ place }) => place) };
    }
  }
}

/** Examples by length: first by the first length, then, where there is one, by the second. */
function bucketed<Example>(examples: readonly Example[], layout: Layout<Example>, { batch, shapes }: BucketOptions): Bucket<Example>[] {
  const split = (members: readonly Example[], axis: number, most: number): { size: number; members: Example[] }[] => {
    const worthwhile = Math.max(1, Math.min(most, Math.floor(members.length / (2 * batch)))); // a bucket of its own should fill some batches
    const sizes = bucketLengths(
      members.map((example) => layout.lengths(example)[axis]),
      worthwhile,
    );
    const groups = sizes.map((size) => ({ size, members: [] as Example[] }));
    for (const example of members) groups[bucketOf(layout.lengths(example)[axis], sizes)].members.push(example);
    return groups;
  };
  if (examples.length === 0) return [];
  const two = layout.lengths(examples[0]).length > 1;
  const [first, second] = shapes === "few" ? (two ? [4, 2] : [6, 1]) : two ? [12, 6] : [24, 1];
  return split(examples, 0, first).flatMap(({ size, members }) =>
    two
      ? split(members, 1, second).map((inner) => ({ sizes: [size, inner.size], examples: inner.members }))
      : [{ sizes: [size], examples: members }],
  );
}

function paddingOf<Example>(buckets: readonly Bucket<Example>[], layout: Layout<Example>, batch: number, shapes: "few" | "any"): number {
  let [real, places] = [0, 0];
  for (const { sizes, examples } of buckets) {
    const rows = shapes === "few" ? Math.ceil(examples.length / batch) * batch : examples.length;
    places += rows * sizes.reduce((a, b) => a + b, 0);
    for (const example of examples) real += layout.lengths(example).reduce((a, b) => a + b, 0);
  }
  return places === 0 ? 0 : 1 - real / places;
}
