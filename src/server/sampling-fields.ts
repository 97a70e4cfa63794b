import type { WriteAsk } from "../protocol/messages.ts";
import { HttpError } from "./errors.ts";
import type { ChatRequest, CompletionRequest } from "./requests.ts";

// The fields that both ways of writing share, as a model is asked.

type Fields = Pick<
  CompletionRequest & ChatRequest,
  | "temperature"
  | "top_p"
  | "top_k"
  | "min_p"
  | "repetition_penalty"
  | "presence_penalty"
  | "frequency_penalty"
  | "logit_bias"
  | "n"
  | "stop"
  | "seed"
  | "beams"
  | "length_penalty"
  | "strict"
  | "stream_options"
  | "stream"
>;

/** A bias of −100 forbids a token, as OpenAI says of it. */
const forbidding = -100;
const forbidden = -1e6;

/** Settings that draw, and so have no meaning where the likeliest whole is looked for. */
const drawing = [
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "repetition_penalty",
  "presence_penalty",
  "frequency_penalty",
  "logit_bias",
  "seed",
] as const;

export function sharedAsk(fields: Fields, randomSeed: () => number): Omit<WriteAsk, "kind" | "prompts"> {
  const { beams, length_penalty, n } = fields;
  if ((beams ?? 1) > 1) refuseDrawing(fields);
  refuseVainPenalty(fields);
  if (beams != null && beams > 1 && (n ?? 1) > beams)
    throw new HttpError(400, `${beams} beams give at most ${beams} texts; ask for a smaller n`, { code: "config.conflict", param: "n" });
  if (fields.stream_options != null && fields.stream !== true)
    throw new HttpError(400, "stream_options is for streams; set stream to true, or leave it out", {
      code: "config.conflict",
      param: "stream_options",
    });
  const stop = fields.stop ?? [];
  return {
    samples: n ?? 1,
    sampling: {
      temperature: fields.temperature ?? 1,
      ...(fields.top_p != null && { topP: fields.top_p }),
      ...(fields.top_k != null && { topK: fields.top_k }),
      ...(fields.min_p != null && { minP: fields.min_p }),
      ...(fields.repetition_penalty != null && { repetitionPenalty: fields.repetition_penalty }),
      ...(fields.presence_penalty != null && { presencePenalty: fields.presence_penalty }),
      ...(fields.frequency_penalty != null && { frequencyPenalty: fields.frequency_penalty }),
      ...(fields.logit_bias != null && {
        bias: Object.entries(fields.logit_bias).map(([id, value]) => [Number(id), value <= forbidding ? forbidden : value]),
      }),
    },
    seed: fields.seed ?? randomSeed(),
    stop: typeof stop === "string" ? [stop] : stop,
    strict: fields.strict ?? true,
    ...(beams != null && beams > 1 && { beams }),
    ...(length_penalty != null && { lengthPenalty: length_penalty }),
  };
}

export function refuseVainPenalty({ beams, length_penalty }: Pick<Fields, "beams" | "length_penalty">): void {
  if (length_penalty != null && (beams ?? 1) === 1)
    throw new HttpError(400, "length_penalty compares beams, and one is always the best; give more beams", {
      code: "config.conflict",
      param: "length_penalty",
    });
}

function refuseDrawing(fields: Fields): void {
  const vain = drawing.find((name) => fields[name] != null);
  if (vain !== undefined)
    throw new HttpError(400, `${vain} is for texts that are drawn, and beams are not; leave one of the two out`, {
      code: "config.conflict",
      param: vain,
    });
}
