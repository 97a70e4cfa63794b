import { EngineError } from "../../base/errors.ts";

const none = (): never => {
  throw new EngineError("a page has no other processes; ask for one thread, or train this with qkv in Node");
};

export const spawn = none;
export const spawnSync = none;
export const fork = none;
export const execFileSync = none;
