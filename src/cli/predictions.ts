import type { Command, Option } from "commander";
import type { PredictOptions, Texts } from "../evaluation/predict.ts";
import type { AnswerOptions } from "../library/answering.ts";
import { open, type Trained } from "../library/trained.ts";
import type { DeviceName } from "../node/devices.ts";
import type { Precision } from "../runtime/device.ts";
import { bareCommand } from "./commands.ts";
import { answerFile, asksForFile, type FileFlags, fileFlags } from "./files.ts";
import { addFlags } from "./flags.ts";
import { aroundEmpty, type GivenTexts, givenTexts } from "./texts.ts";
import { engineFlags } from "./writing-flags.ts";

interface Options extends FileFlags, AnswerOptions {
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly adapter?: string;
  readonly weights?: Precision;
}

type Predict<Answer> = (run: Trained, texts: Texts, options: PredictOptions) => AsyncGenerator<Answer>;

/** What a command is made of: how it answers, what it says of a line with nothing in it, and how an answer is shown. */
interface Prediction<Answer, Empty> {
  readonly predict: Predict<Answer>;
  readonly empty: (text: string) => Empty;
  readonly shown: (answer: Answer, run: Trained) => string;
  readonly flags?: readonly Option[];
}

/** A command that answers texts, from the arguments, the lines of standard input or the rows of a file, one answer for each. */
export function predictionCommand<Answer extends object, Empty extends object>(
  name: "classify" | "tag",
  { predict, empty, shown, flags = [] }: Prediction<Answer, Empty>,
): Command {
  return addFlags(bareCommand(name), fileFlags, flags, engineFlags).action(
    async (folder: string, given: string[], { threads, device, adapter, weights, ...options }: Options, command: Command) => {
      const run = open(folder, { threads, device, precision: weights, adapter });
      run.require(name);
      const { probabilities } = options;
      if (asksForFile(given, options, command)) return answerFile(run, name, options, { probabilities });
      const from = givenTexts(given, process.stdin, options);
      const answers = answersTo(from, run, (texts, asked) => predict(run, texts, asked), empty);
      if (options.json) await printJson(answers.all);
      else await printEach(answers.all, (answer) => (answers.isEmpty(answer) ? "" : shown(answer, run)));
    },
  );
}

/** One answer for each text; for a line with nothing in it, an empty one. */
export function answersTo<Answer extends object, Empty extends object>(
  { unit, texts }: GivenTexts,
  { tokenizer }: Trained,
  predict: (texts: Texts, options: PredictOptions) => AsyncGenerator<Answer>,
  empty: (text: string) => Empty,
): { readonly all: AsyncIterable<Answer | Empty>; readonly isEmpty: (answer: Answer | Empty) => answer is Empty } {
  const empties = new WeakSet<object>();
  const warn = (sentence: string) => console.error(`warning: ${sentence}`);
  const isEmpty = (answer: Answer | Empty): answer is Empty => empties.has(answer);
  if (unit === "text") return { all: predict(texts, { unit, warn }), isEmpty };
  const remembered = (text: string): Empty => {
    const one = empty(text);
    empties.add(one);
    return one;
  };
  const nothing = (text: string) => text.trim() === "" || tokenizer.encode(text).length === 0;
  return { all: aroundEmpty(texts, nothing, (others) => predict(others, { unit, warn }), remembered), isEmpty };
}

/** As they come; whoever reads them may have had enough (`| head`), and then there is no more to do. */
export async function printEach<Answer>(answers: AsyncIterable<Answer>, shown: (answer: Answer) => string): Promise<void> {
  for await (const answer of answers) {
    if (!process.stdout.writable) break;
    process.stdout.write(`${shown(answer)}\n`);
  }
}

/** One line, printed when all is well: half a line would help nobody. It may be longer than a string can be. */
export async function printJson(answers: AsyncIterable<unknown>): Promise<void> {
  const results: string[] = [];
  for await (const answer of answers) results.push(JSON.stringify(answer));
  process.stdout.write('{"results":[');
  for (const [i, result] of results.entries()) process.stdout.write(i === 0 ? result : `,${result}`);
  process.stdout.write("]}\n");
}
