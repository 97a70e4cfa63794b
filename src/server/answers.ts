import type * as z from "zod";
import type { Ask } from "../protocol/messages.ts";
import type { ViewOptions } from "../views/views.ts";
import { type Call, json, modelOf, type Reply, whole, withWarnings } from "./call.ts";
import { messagesOf } from "./chat.ts";
import { HttpError } from "./errors.ts";
import type {
  classifyRequest,
  detokenizeRequest,
  embeddingRequest,
  fillRequest,
  lookRequest,
  tagRequest,
  tokenizeRequest,
  translateRequest,
} from "./requests.ts";
import { refuseVainPenalty } from "./sampling-fields.ts";

// Routes with one answer.

const list = (input: string | readonly string[]): readonly string[] => (typeof input === "string" ? [input] : input);

const ask = <A extends Ask>(call: Call, model: string, asked: A) =>
  call.models.ask(model, asked, { begun: () => call.begun() }, call.signal);

/** POST /v1/embeddings */
export async function embed(call: Call, body: z.output<typeof embeddingRequest>): Promise<Reply> {
  const model = modelOf(call, body.model);
  const { pool, normalise, encoding_format, dimensions } = body;
  const texts = list(body.input);
  const { answer, warnings } = await ask(call, model, {
    kind: "embed",
    texts,
    ...(pool != null && { pool }),
    normalise: normalise ?? true,
  });
  const { vectors, tokens } = answer;
  if (dimensions != null && dimensions !== vectors[0].length)
    throw new HttpError(
      400,
      `dimensions: the vectors of ${model} have ${vectors[0].length} numbers and cannot be shortened; leave it out`,
      {
        code: "unsupported_value",
        param: "dimensions",
      },
    );
  call.facts.promptTokens = tokens;
  call.facts.text = { input: texts };
  const written = encoding_format === "base64" ? base64 : (vector: readonly number[]) => vector;
  return json({
    object: "list",
    model,
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: written(vector) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    ...withWarnings(warnings),
  });
}

/** 32-bit numbers, the lowest byte first. */
function base64(vector: readonly number[]): string {
  const view = new DataView(new ArrayBuffer(4 * vector.length));
  for (const [i, value] of vector.entries()) view.setFloat32(4 * i, value, true);
  return Buffer.from(view.buffer).toString("base64");
}

/** POST /v1/classify, /v1/tag, /v1/fill and /v1/translate */
const results =
  <Body extends { readonly model?: string; readonly input: string | readonly string[] }>(
    askOf: (texts: readonly string[], body: Body) => Extract<Ask, { texts: unknown }>,
  ) =>
  async (call: Call, body: Body): Promise<Reply> => {
    const model = modelOf(call, body.model);
    const texts = list(body.input);
    const { answer, warnings } = await ask(call, model, askOf(texts, body));
    call.facts.text = { input: texts };
    return json({ model, results: answer, ...withWarnings(warnings) });
  };

export const classify = results<z.output<typeof classifyRequest>>((texts) => ({ kind: "classify", texts }));
export const tag = results<z.output<typeof tagRequest>>((texts) => ({ kind: "tag", texts }));
export const fill = results<z.output<typeof fillRequest>>((texts, { top }) => ({ kind: "fill", texts, ...(top != null && { top }) }));
export const translate = results<z.output<typeof translateRequest>>((texts, { beams, length_penalty }) => {
  refuseVainPenalty({ beams, length_penalty });
  return { kind: "translate", texts, ...(beams != null && { beams }), ...(length_penalty != null && { lengthPenalty: length_penalty }) };
});

/** POST /v1/look */
export async function look(call: Call, { model: given, text, view, format, ...rest }: z.output<typeof lookRequest>): Promise<Reply> {
  const model = modelOf(call, given);
  const options: ViewOptions = Object.fromEntries(Object.entries(rest).filter(([, value]) => value != null));
  const { answer } = await ask(call, model, { kind: "look", view: view ?? "attention", text: text ?? "", options, as: format ?? "json" });
  call.facts.text = { text };
  if ("html" in answer) return whole(answer.html, "text/html; charset=utf-8");
  return "svg" in answer ? whole(answer.svg, "image/svg+xml; charset=utf-8") : whole(answer.json, "application/json");
}

/** POST /tokenize */
export async function tokenize(call: Call, { model: given, text, messages }: z.output<typeof tokenizeRequest>): Promise<Reply> {
  const model = modelOf(call, given);
  const { answer } = await ask(call, model, { kind: "tokenize", given: messages ? messagesOf({ messages }) : (text ?? "") });
  return json({ model, tokens: answer.ids, pieces: answer.pieces, count: answer.ids.length });
}

/** POST /detokenize */
export async function detokenize(call: Call, { model: given, tokens }: z.output<typeof detokenizeRequest>): Promise<Reply> {
  const model = modelOf(call, given);
  const { answer } = await ask(call, model, { kind: "detokenize", ids: tokens });
  return json({ model, text: answer.text });
}
