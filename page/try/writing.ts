import { figure } from "../../src/pictures/number.ts";
import { type Asked, type ChatChunk, type CompletionChunk, type Usage, written } from "./api.ts";
import type { Outcome } from "./asking.ts";
import type { Likely, Token, TokenText } from "./tokens.ts";

// A text on its way from the server to the page.

/** So many alternatives are asked for with each token. */
export const alternatives = 5;

interface Part {
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly finish: "stop" | "length" | null;
  readonly usage?: Usage | null | undefined;
  readonly warnings?: readonly string[] | undefined;
}

const endings = { stop: "the model ended it", length: "ended by its limit" } as const;

/** Shows what comes as it comes. Stopped, it says so; broken off, it is an error, and what was shown is no answer. */
export async function follow(asked: Asked, into: TokenText, signal: AbortSignal): Promise<Outcome> {
  const began = performance.now();
  let [first, last, finish, usage, warnings]: [number, number, Part["finish"], Part["usage"], Part["warnings"]] = [0, 0, null, null, []];
  try {
    for await (const part of parts(asked, signal)) {
      if (part.text !== "" || part.tokens.length > 0) {
        last = performance.now();
        first ||= last;
      }
      into.add(part.text, part.tokens);
      finish = part.finish ?? finish;
      usage = part.usage ?? usage;
      warnings = part.warnings ?? warnings;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    into.end();
  }
  const count = usage?.completion_tokens ?? into.count;
  const speed = last > first && count > 1 ? [`${figure((1000 * (count - 1)) / (last - first))} tokens/s`] : [];
  const ending = signal.aborted ? "stopped" : finish ? endings[finish] : "";
  const facts = [
    `${count} ${count === 1 ? "token" : "tokens"}`,
    ...speed,
    ...(first > 0 ? [`first after ${milliseconds(first - began)}`] : []),
    ...(usage ? [`${usage.prompt_tokens} read`] : []),
    ...(ending ? [ending] : []),
  ];
  return { facts, warnings, spoken: `${into.text}${signal.aborted ? " (stopped)" : ""}` };
}

const milliseconds = (time: number): string => (time < 1000 ? `${Math.max(1, Math.round(time))} ms` : `${(time / 1000).toFixed(1)} s`);

async function* parts(asked: Asked, signal: AbortSignal): AsyncGenerator<Part> {
  if (asked.path === "/v1/completions") for await (const chunk of written<CompletionChunk>(asked, signal)) yield ofCompletion(chunk);
  else for await (const chunk of written<ChatChunk>(asked, signal)) yield ofChat(chunk);
}

function ofCompletion({ choices: [choice], usage, warnings }: CompletionChunk): Part {
  const { tokens = [], token_logprobs: own = [], top_logprobs: tops = [] } = choice?.logprobs ?? {};
  return {
    text: choice?.text ?? "",
    tokens: tokens.map((text, i) => ({
      text,
      logProbability: own[i] ?? 0,
      top: sorted(Object.entries(tops[i] ?? {}).map(([name, logProbability]) => ({ text: name, logProbability }))),
    })),
    finish: choice?.finish_reason ?? null,
    usage,
    warnings,
  };
}

function ofChat({ choices: [choice], usage, warnings }: ChatChunk): Part {
  return {
    text: choice?.delta.content ?? "",
    tokens: (choice?.logprobs?.content ?? []).map(({ token, logprob, top_logprobs }) => ({
      text: token,
      logProbability: logprob,
      top: sorted(top_logprobs.map((one) => ({ text: one.token, logProbability: one.logprob }))),
    })),
    finish: choice?.finish_reason ?? null,
    usage,
    warnings,
  };
}

const sorted = (likely: Likely[]): Likely[] => likely.sort((a, b) => b.logProbability - a.logProbability);
