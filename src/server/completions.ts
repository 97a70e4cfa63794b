import type { Begun, GivenPrompt, ToldToken, WriteAsk } from "../protocol/messages.ts";
import { type Call, modelOf, type Reply } from "./call.ts";
import { HttpError } from "./errors.ts";
import { type CompletionRequest, mostRows } from "./requests.ts";
import { sharedAsk } from "./sampling-fields.ts";
import { type Choice, type Spelling, writeStream, writeWhole } from "./written.ts";

const usualTokens = 16;

/** POST /v1/completions */
export function complete(call: Call, body: CompletionRequest): Promise<Reply> {
  const model = modelOf(call, body.model);
  const prompts = promptsOf(body.prompt ?? "");
  const tokens = body.max_tokens ?? usualTokens;
  const echo = body.echo === true;
  if (tokens === 0 && !echo)
    throw new HttpError(400, "max_tokens: 0 is for a prompt alone, with echo; ask for 1 at least", {
      code: "invalid_value",
      param: "max_tokens",
    });
  const ask: WriteAsk = {
    kind: "write",
    prompts,
    ...sharedAsk(body, call.seed),
    tokens,
    ...(body.logprobs != null && { top: body.logprobs }),
    ...(echo && { echo }),
  };
  if (prompts.length * Math.max(ask.samples, ask.beams ?? 1) > mostRows)
    throw new HttpError(400, `n: a request may ask for ${mostRows} texts in all; send several requests`, {
      code: "invalid_value",
      param: "n",
    });
  const spelling = completionSpelling(call, model, ask);
  if (!body.stream) return writeWhole(call, model, ask, spelling);
  return writeStream(call, model, ask, spelling, body.stream_options?.include_usage === true);
}

function promptsOf(given: NonNullable<CompletionRequest["prompt"]>): GivenPrompt[] {
  if (typeof given === "string") return [given];
  return typeof given[0] === "number" ? [given as number[]] : (given as GivenPrompt[]);
}

function completionSpelling(call: Call, model: string, { samples, top, echo }: WriteAsk): Spelling {
  const head = { id: `cmpl-${call.id}`, object: "text_completion", created: call.now(), model, system_fingerprint: call.fingerprint };
  const lengths = new Map<number, number>();
  const logprobsOf = (index: number, tokens: readonly Scored[]) => {
    if (top === undefined) return null;
    const offsets = tokens.map(({ text }) => {
      const at = lengths.get(index) ?? 0;
      lengths.set(index, at + text.length);
      return at;
    });
    return {
      tokens: tokens.map(({ text }) => text),
      token_logprobs: tokens.map(({ logProbability }) => logProbability),
      top_logprobs: tokens.map(({ logProbability, top: others }) =>
        logProbability === null ? null : Object.fromEntries(others.map((one) => [one.text, one.logProbability])),
      ),
      text_offset: offsets,
    };
  };
  const choice = ({ index, text, tokens, finish }: Choice) => ({ index, text, logprobs: logprobsOf(index, tokens), finish_reason: finish });
  const echoed = (index: number, { prompts }: Begun) => prompts[Math.floor(index / samples)];
  return {
    head,
    chunkHead: head,
    whole: (choices, begun) => ({
      choices: choices.map((one) => {
        const { text = "", scored = [] } = echoed(one.index, begun);
        const { index, finish } = one;
        return { index, text: text + one.text, logprobs: logprobsOf(index, [...scored, ...one.tokens]), finish_reason: finish };
      }),
    }),
    first(index, begun) {
      if (!echo) return undefined;
      const { text = "", scored = [] } = echoed(index, begun);
      return { choices: [{ index, text, logprobs: logprobsOf(index, scored), finish_reason: null }] };
    },
    piece: (one) => ({ choices: [choice(one)] }),
  };
}

type Scored = Omit<ToldToken, "logProbability"> & { readonly logProbability: number | null };
