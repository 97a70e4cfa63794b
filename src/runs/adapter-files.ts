import { join } from "node:path";

const tensorsName = "adapter_model.safetensors";
const configName = "adapter_config.json";

/** The two files of an adapter, in its folder. */
export const adapterFile = (folder: string): string => join(folder, tensorsName);
export const adapterConfigFile = (folder: string): string => join(folder, configName);

/** Where a run has its adapter. */
export const adapterIn = (run: string): string => join(run, "adapter");
