import { existsSync } from "node:fs";
import { ConfigError, FormatError, RunError } from "../base/errors.ts";
import { call, sentence, setting } from "../base/sentence.ts";
import { filesHash } from "../disk/files.ts";
import { readJsonObject } from "../disk/hub-tensors.ts";
import { familyCalled } from "../hub/families.ts";
import { parsePeftConfig, peftChanges, peftModules } from "../hub/peft.ts";
import { modelLoss } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import { changedWeights } from "../weights/adapted.ts";
import { noAdapter, readAdapterTensors } from "./adapter.ts";
import { adapterConfigFile, adapterFile } from "./adapter-files.ts";
import { type OpenRun, openRun, paths, runWeights } from "./folder.ts";

// An adapter that is put into a model for as long as it is open: that of a run, or a folder that PEFT wrote.

/** A model with an adapter in it. Its weights stay where they lie; only the matrices that the adapter changes are made anew. */
export function withAdapter(base: OpenRun, adapter: string): OpenRun {
  const { folder, config } = base;
  if (config.training.lora && !base.outside)
    throw new ConfigError(
      sentence`${folder} is an adapter itself, of ${config.from?.run ?? "another run"}; open that with ${setting("adapter")}, or put this one into it: ${call("merge", folder, { out: "<folder>" })}`,
      { code: "config.conflict", path: "adapter" },
    );
  const inside = adapterFolder(base, adapter);
  const [file, configFile] = [adapterFile(inside), adapterConfigFile(inside)];
  if (!existsSync(file)) throw new FormatError(`${inside} has no adapter_model.safetensors; an adapter is that and adapter_config.json`);
  const family = config.hub && familyCalled(config.hub.family);
  const peft = parsePeftConfig(readJsonObject(configFile), configFile);
  const changes = peftChanges(peft, readAdapterTensors(file), { modules: peftModules(config.model, family), family, where: file });
  const files = [...(base.outside?.files ?? [paths(folder).model]), file];
  const weights = () => changedWeights(runWeights(base), parametersOf(modelLoss(config.model)), changes);
  return { ...base, outside: { files, weights } };
}

/** Where the files of an adapter are: in its own folder, or in that of the run that learned it, which must be one of this very base. */
function adapterFolder(base: OpenRun, adapter: string): string {
  if (existsSync(adapterConfigFile(adapter))) return adapter;
  if (!existsSync(paths(adapter).config))
    throw new RunError(sentence`${adapter} is no adapter: there is neither an adapter_config.json nor a run`, { code: "run.missing" });
  const { config } = openRun(adapter);
  if (!config.training.lora)
    throw new ConfigError(sentence`${adapter} was trained without ${setting("lora")}, so it has no adapter; open it by itself`, {
      code: "config.conflict",
      path: "adapter",
    });
  const files = base.outside?.files ?? [paths(base.folder).model];
  if (config.from && files.every((file) => existsSync(file)) && config.from.sha256 !== filesHash(files))
    throw new RunError(
      sentence`${adapter} is an adapter of ${config.from.run} as it was (SHA-256 ${config.from.sha256.slice(0, 12)}…), and ${base.folder} has other weights; open the one that it belongs to`,
      { code: "run.changed" },
    );
  const inside = paths(adapter).adapter;
  if (!existsSync(adapterFile(inside))) throw noAdapter(adapter);
  return inside;
}
