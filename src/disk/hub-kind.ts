import { existsSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../hub/family.ts";
import { readJsonObject } from "./hub-tensors.ts";

/** Whether a folder looks like one: a config.json with the words of Python's library. */
export function isHubFolder(folder: string): boolean {
  const file = join(folder, "config.json");
  if (!existsSync(file)) return false;
  try {
    return looksForeign(readJsonObject(file));
  } catch {
    return false; // whoever opens it as something else will say what is wrong
  }
}

const looksForeign = (config: JsonObject): boolean =>
  !("format" in config) && ("model_type" in config || "architectures" in config || "transformers_version" in config);
