import type { Plugin } from "esbuild";

export const standIns: ReadonlyMap<string, string>;
export function pageSystem(): Plugin;
