import type { Command } from "commander";
import type { PredictOptions, Texts } from "../evaluation/predict.ts";
import { open, type Trained } from "../library/trained.ts";
import { bareCommand } from "./commands.ts";
import { givenTexts } from "./texts.ts";
import { wholeNumber } from "./values.ts";

interface Options {
  readonly json?: boolean;
  readonly threads?: number;
}

type Predict<Answer> = (run: Trained, texts: Texts, options: PredictOptions) => AsyncGenerator<Answer>;

/** A command that answers texts, from the arguments or the lines of standard input, one answer for each. */
export function predictionCommand<Answer>(
  name: "classify" | "tag",
  predict: Predict<Answer>,
  shown: (answer: Answer, run: Trained) => string,
): Command {
  return bareCommand(name)
    .option("--threads <n>", "threads of the engine", wholeNumber)
    .option("--json", "print one line of JSON and nothing else")
    .action(async (folder: string, given: string[], { json, threads }: Options) => {
      const run = open(folder, { threads });
      run.require(name);
      const { unit, texts } = givenTexts(given, process.stdin);
      const warn = (sentence: string) => console.error(`warning: ${sentence}`);
      const answers = predict(run, texts, { unit, warn });
      if (json) await printJson(answers);
      else await printEach(answers, (answer) => shown(answer, run));
    });
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
