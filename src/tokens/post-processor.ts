import * as z from "zod";
import { FormatError } from "../base/errors.ts";
import type { TextFrame } from "./tokenizer.ts";

// What a file's post_processor puts around a single text. Only `frame` says it: `encode` itself adds nothing.

const id = z.number().int().nonnegative();
const named = z.tuple([z.string(), id]);
const processor = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("ByteLevel") }),
  z.looseObject({ type: z.literal("BertProcessing"), cls: named, sep: named }),
  z.looseObject({ type: z.literal("RobertaProcessing"), cls: named, sep: named }),
  z.looseObject({
    type: z.literal("TemplateProcessing"),
    single: z.array(z.union([z.object({ SpecialToken: z.looseObject({ id: z.string() }) }), z.object({ Sequence: z.looseObject({}) })])),
    special_tokens: z.record(z.string(), z.looseObject({ ids: z.array(id) })),
  }),
  z.looseObject({ type: z.literal("Sequence"), processors: z.array(z.looseObject({ type: z.string() })) }),
]);

const nothing: TextFrame = { before: [], after: [] };

/** The ids before and after a single text; nothing where the file adds none. */
export function frameOfText(json: object | null, size: number, where: string): TextFrame | undefined {
  if (json === null) return undefined;
  const frame = frameOf(json, where);
  const far = [...frame.before, ...frame.after].find((found) => found >= size);
  if (far !== undefined)
    throw new FormatError(`${where}: at post_processor: the id ${far} is not in the vocabulary, which has ${size} entries`);
  return frame.before.length + frame.after.length > 0 ? frame : undefined;
}

function frameOf(json: object, where: string): TextFrame {
  const result = processor.safeParse(json);
  if (!result.success) {
    const [{ path, message }] = result.error.issues;
    throw new FormatError(`${where}: at post_processor${path.map((key) => `.${String(key)}`).join("")}: ${message}`);
  }
  const { data } = result;
  if (data.type === "ByteLevel") return nothing;
  if (data.type === "BertProcessing" || data.type === "RobertaProcessing") return { before: [data.cls[1]], after: [data.sep[1]] };
  if (data.type === "Sequence") {
    const adding = data.processors.map((one) => frameOf(one, where)).filter(({ before, after }) => before.length + after.length > 0);
    if (adding.length > 1) throw new FormatError(`${where}: at post_processor.processors: ${adding.length} of them add tokens, not one`);
    return adding[0] ?? nothing;
  }
  return templateFrame(data.single, data.special_tokens, where);
}

type TemplatePiece = { SpecialToken: { id: string } } | { Sequence: object };

function templateFrame(single: readonly TemplatePiece[], tokens: Record<string, { ids: number[] }>, where: string): TextFrame {
  const idsOf = (piece: TemplatePiece): number[] => {
    if ("Sequence" in piece) return [];
    const name = piece.SpecialToken.id;
    if (!Object.hasOwn(tokens, name)) {
      throw new FormatError(`${where}: at post_processor.special_tokens: ${JSON.stringify(name)} is missing, which the template names`);
    }
    return tokens[name].ids;
  };
  const places = [...single.keys()].filter((i) => "Sequence" in single[i]);
  if (places.length !== 1) {
    throw new FormatError(`${where}: at post_processor.single: the text stands ${places.length} times in the template, not once`);
  }
  const [place] = places;
  return { before: single.slice(0, place).flatMap(idsOf), after: single.slice(place + 1).flatMap(idsOf) };
}
