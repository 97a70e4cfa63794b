import { forEachItem } from "../base/turns.ts";
import { answerOf, type Example, inputOf } from "./examples.ts";
import { quoted } from "./quote.ts";

// Examples by their classes, and what is wrong with those.

/** Whether an example is of a class, or of some. */
export const isLabelled = (example: Example): boolean => "label" in example || "labels" in example;

/** The smallest class that is surely in both parts. */
export const fewest = 5;

/** The classes of an example; a text without any label is of a class of its own. */
export function classesOf(example: Example): readonly string[] {
  if ("label" in example) return [example.label];
  return "labels" in example ? (example.labels.length > 0 ? example.labels : [""]) : [];
}

/** The different inputs of each class, the rarest class first and equals in code-point order. */
export function* inputsByClass(examples: readonly Example[]): Generator<void, [name: string, inputs: Set<string>][]> {
  const classes = new Map<string, Set<string>>();
  yield* forEachItem(examples, (example) => {
    for (const name of classesOf(example)) {
      const inputs = classes.get(name);
      if (inputs) inputs.add(inputOf(example));
      else classes.set(name, new Set([inputOf(example)]));
    }
  });
  return [...classes].sort(([a, some], [b, others]) => some.size - others.size || (a < b ? -1 : 1));
}

/** What is to be said of classes that are too small to be in both parts, or are not. */
export function* smallClasses({
  train,
  valid,
}: {
  readonly train: readonly Example[];
  readonly valid: readonly Example[];
}): Generator<void, string[]> {
  if (valid.length === 0) return [];
  const all = yield* inputsByClass([...train, ...valid]);
  const [held, used] = [new Map(yield* inputsByClass(valid)), new Map(yield* inputsByClass(train))];
  const named = (list: typeof all) => {
    const shown = list.slice(0, 8).map(([name, { size }]) => `${name === "" ? "no label" : quoted(name)} (${size})`);
    return `${shown.join(", ")}${list.length > 8 ? ` and ${list.length - 8} more` : ""}`;
  };
  const small = all.filter(([, { size }]) => size < fewest);
  const apart = all.filter(([name, { size }]) => size >= fewest && !(held.has(name) && used.has(name)));
  const one = (list: typeof all) => (list.length === 1 ? "class has" : "classes have");
  return [
    ...(small.length > 0
      ? [`${small.length} ${one(small)} fewer than ${fewest} examples, too few to be surely trained on and validated with: ${named(small)}`]
      : []),
    ...(apart.length > 0
      ? [`${apart.length} ${one(apart)} all examples on one side, since texts with other labels too decide where they are: ${named(apart)}`]
      : []),
  ];
}

/** What is to be said of equal texts that have different labels: how many there are, and where one of them is. */
export function* contradictions(examples: readonly Example[]): Generator<void, string[]> {
  const first = new Map<string, Example>();
  const different = new Set<string>();
  let shown: readonly [Example, Example] | undefined;
  let done = 0;
  for (const example of examples) {
    if (++done % 256 === 0) yield;
    if (!isLabelled(example)) continue;
    const known = first.get(inputOf(example));
    if (!known) first.set(inputOf(example), example);
    else if (JSON.stringify(sortedAnswer(known)) !== JSON.stringify(sortedAnswer(example))) {
      shown ??= [known, example];
      different.add(inputOf(example));
    }
  }
  if (!shown) return [];
  const what = different.size === 1 ? "1 text has" : `${different.size} texts have`;
  const [a, b] = shown.map((example) => `${placeOf(example)}${sortedAnswer(example).map(quoted).join(" ") || "no label"}`);
  return [`${what} different labels in different places, such as ${quoted(inputOf(shown[0]))}: ${a}, ${b}`];
}

const sortedAnswer = (example: Example): readonly string[] => [answerOf(example)].flat().sort();

const placeOf = ({ file, line }: Example): string => (line === undefined ? "" : `${file === undefined ? "" : `${file}, `}line ${line} `);
