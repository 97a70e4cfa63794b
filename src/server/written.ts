import type { Begun, Piece, ToldToken, WriteAsk } from "../protocol/messages.ts";
import { mostTold, usualMost } from "../protocol/writers.ts";
import { type Call, json, type Reply, withWarnings } from "./call.ts";
import { gone, HttpError, httpError } from "./errors.ts";
import { EventStream } from "./event-stream.ts";

// Texts that are written for a request: given whole, or as they come.

/** A choice of the answer, as far as it is written. */
export interface Choice {
  readonly index: number;
  readonly text: string;
  readonly tokens: readonly ToldToken[];
  readonly finish: "stop" | "length" | null;
}

/** How one route of the API spells all this. */
export interface Spelling {
  /** The whole answer. */
  whole(choices: readonly Choice[], begun: Begun): object;
  /** What comes first in a stream of a choice; nothing, where there is no such thing. */
  first(index: number, begun: Begun): object | undefined;
  /** A piece of one choice. */
  piece(choice: Choice): object;
  /** What every part of the answer begins with. */
  readonly head: object;
  readonly chunkHead: object;
}

const reasonOf = (finish: Piece["finish"]): Choice["finish"] => (finish === undefined ? null : finish === "length" ? "length" : "stop");

export async function writeWhole(call: Call, model: string, ask: WriteAsk, spelling: Spelling): Promise<Reply> {
  const count = ask.prompts.length * ask.samples;
  if (ask.top !== undefined && count * (ask.tokens ?? usualMost) * (ask.top + 1) > mostTold)
    throw new HttpError(400, "logprobs of so many tokens are too long for one answer; ask for fewer, or for a stream", {
      code: "data.too-much",
      param: "logprobs",
    });
  const texts: { text: string; tokens: ToldToken[]; finish: Choice["finish"]; count: number }[] = Array.from({ length: count }, () => ({
    text: "",
    tokens: [],
    finish: null,
    count: 0,
  }));
  let begun: Begun = { prompts: [] };
  const clock = new Clock(call);
  const { warnings } = await call.models.ask(
    model,
    ask,
    {
      begun(said) {
        begun = said;
        call.begun();
      },
      piece(said) {
        clock.piece(said);
        const one = texts[said.prompt * ask.samples + said.sample];
        one.text += said.text;
        one.count = said.count;
        for (const token of said.tokens ?? []) one.tokens.push(token);
        one.finish = reasonOf(said.finish) ?? one.finish;
      },
    },
    call.signal,
  );
  const usage = usageOf(
    begun,
    texts.map((one) => one.count),
  );
  clock.end(usage, Math.max(...texts.map((one) => one.count)));
  call.facts.text = { prompt: ask.prompts, completion: texts.map(({ text }) => text) };
  const choices = texts.map(({ text, tokens, finish }, index) => ({ index, text, tokens, finish }));
  return json({ ...spelling.head, ...spelling.whole(choices, begun), usage, ...withWarnings(warnings) });
}

/** Begins to answer when writing begins, so that whatever is refused before that has a status of its own. */
export function writeStream(call: Call, model: string, ask: WriteAsk, spelling: Spelling, includeUsage: boolean): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const stream = new EventStream({ patience: call.patience, drop: call.drop, left: (reason) => call.abort(gone(reason)) });
    const clock = new Clock(call);
    const counts: number[] = Array.from({ length: ask.prompts.length * ask.samples }, () => 0);
    const texts: string[] = counts.map(() => "");
    let begun: Begun | undefined;
    const send = (body: object) => stream.send({ ...spelling.chunkHead, ...body, ...(includeUsage && { usage: null }) });
    const listener = {
      begun(said: Begun) {
        begun = said;
        call.begun();
        resolve({ response: stream.response(), over });
        if (said.warnings?.length) send({ choices: [], ...withWarnings(said.warnings) });
        for (const index of counts.keys()) {
          const first = spelling.first(index, said);
          if (first) send(first);
        }
      },
      piece(said: Piece) {
        clock.piece(said);
        const index = said.prompt * ask.samples + said.sample;
        counts[index] = said.count;
        texts[index] += said.text;
        const finish = reasonOf(said.finish);
        if (said.text !== "" || said.tokens || finish) send(spelling.piece({ index, text: said.text, tokens: said.tokens ?? [], finish }));
      },
    };
    call.facts.stream = true;
    const over: Promise<HttpError | undefined> = call.models.ask(model, ask, listener, call.signal).then(
      () => {
        const usage = usageOf(begun ?? { prompts: [] }, counts);
        clock.end(usage, Math.max(...counts));
        call.facts.text = { prompt: ask.prompts, completion: texts };
        if (includeUsage) stream.send({ ...spelling.chunkHead, choices: [], usage });
        stream.end();
        return undefined;
      },
      (error) => {
        reject(error); // which counts only where there is no answer yet
        const found = httpError(error);
        stream.fail(found.body);
        return found;
      },
    );
  });
}

function usageOf({ prompts }: Begun, counts: readonly number[]) {
  const prompt = prompts.reduce((sum, { tokens }) => sum + tokens, 0);
  const completion = counts.reduce((sum, count) => sum + count, 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** How long tokens take. */
class Clock {
  readonly #call: Call;
  readonly #began = performance.now();
  #first: number | undefined;
  #last = 0;

  constructor(call: Call) {
    this.#call = call;
  }

  piece({ count }: Piece): void {
    if (count === 0) return;
    this.#last = performance.now();
    this.#first ??= this.#last;
  }

  /** The longest text tells how long a token takes: others are written at the same time. */
  end({ prompt_tokens, completion_tokens }: ReturnType<typeof usageOf>, longest: number): void {
    const { facts } = this.#call;
    facts.promptTokens = prompt_tokens;
    facts.completionTokens = completion_tokens;
    if (this.#first === undefined) return;
    facts.firstToken = (this.#first - this.#began) / 1000;
    if (longest > 1) facts.perToken = (this.#last - this.#first) / 1000 / (longest - 1);
  }
}
