import { existsSync } from "node:fs";
import { join } from "node:path";
import { FormatError } from "../base/errors.ts";
import { type Recognised, recognised } from "../hub/families.ts";
import { floatKeys } from "../hub/python-json.ts";
import { type HubRecord, templateOf } from "../hub/record.ts";
import { gatheringOf } from "../hub/sentences.ts";
import { matched } from "../hub/tensors.ts";
import { checkVocabulary, hubTokenizer } from "../hub/tokenizer.ts";
import { modelLoss } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Weights } from "../weights/weights.ts";
import { foreignWeights } from "./foreign-weights.ts";
import { openHubTensors, readHubText, readJson, readJsonObject } from "./hub-tensors.ts";

// A folder as Hugging Face has it: config.json, safetensors, tokenizer.json and what says how they are used.

export interface HubFolder extends Recognised {
  readonly folder: string;
  readonly record: HubRecord;
  /** Left out where the folder has none: a model of ids. */
  readonly tokenizer?: Tokenizer;
  /** The text of its tokenizer.json. */
  readonly tokenizerText?: string;
  /** The files of its weights. */
  readonly files: readonly string[];
  /** All tensors are matched by name and shape when this is called; numbers are read later. */
  weights(temporary: string): Weights;
}

export function openHubFolder(folder: string): HubFolder {
  const at = (name: string) => join(folder, name);
  const optional = (name: string) => (existsSync(at(name)) ? readJsonObject(at(name)) : undefined);
  const config = readJsonObject(at("config.json"));
  const floats = floatKeys(
    readHubText(at("config.json")) + (existsSync(at("generation_config.json")) ? readHubText(at("generation_config.json")) : ""),
  );
  const found = gathered(recognised(config, at("config.json")), folder);
  const [generation, tokenizerConfig] = [optional("generation_config.json"), optional("tokenizer_config.json")];
  const chatTemplate = existsSync(at("chat_template.jinja")) ? readHubText(at("chat_template.jinja")) : templateOf(tokenizerConfig);
  const tensors = openHubTensors(folder);
  const record: HubRecord = {
    family: found.family.name,
    config,
    ...(generation && { generation }),
    ...(tokenizerConfig && { tokenizerConfig }),
    ...(chatTemplate !== undefined && { chatTemplate }),
    dtype: tensors.dtype,
    floats,
  };
  const tokenizerText = existsSync(at("tokenizer.json")) ? readHubText(at("tokenizer.json")) : undefined;
  const tokenizer = tokenizerText === undefined ? undefined : hubTokenizer(tokenizerText, at("tokenizer.json"), record);
  if (tokenizer) checkVocabulary(tokenizer, found.model.vocab, folder);
  return {
    ...found,
    folder,
    record,
    files: tensors.files,
    ...(tokenizer && { tokenizer, tokenizerText }),
    weights(temporary) {
      const layout = parametersOf(modelLoss(found.model));
      return foreignWeights(tensors, matched(found.family, found.model, layout, tensors), layout, temporary);
    },
  };
}

/** A model of vectors gathers them as sentence-transformers would, where the folder is one of those. */
function gathered(found: Recognised, folder: string): Recognised {
  const { model } = found;
  const file = join(folder, "modules.json");
  if (model.model !== "encoder" || model.task !== "embed" || !existsSync(file)) return found;
  const how = gatheringOf(readJson(file), file, (inner) => readJsonObject(join(folder, inner, "config.json")));
  return { ...found, model: { ...model, ...how } };
}

/** What is said where text must be read. */
export const noTokenizer = (folder: string): FormatError =>
  new FormatError(
    `${folder} has no tokenizer.json; write it from Python with AutoTokenizer.from_pretrained(…).save_pretrained(…), which turns older files into one`,
  );
