import { readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Tokenised texts are a convenience: when they take more than this, the ones that were not used for the longest time go. */
const mostBytes = 20e9;

/** Where tokenised text is kept between runs, unless it is said otherwise. */
export const cacheFolder = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "qkv");

/** Marks an entry as used now. */
export function touch(file: string, now: Date): void {
  try {
    utimesSync(file, now, now);
  } catch {
    // a cache that only lets itself be read still serves
  }
}

/** Removes what was not used for the longest time, down to the most that the cache may take; `newest` stays. */
export function prune(folder: string, newest: string, most = mostBytes): void {
  const entries = readdirSync(folder)
    .filter((name) => name.endsWith(".ids") && name !== newest)
    .map((name) => ({ name, ...sizeAndTime(join(folder, name)) }))
    .sort((a, b) => b.time - a.time);
  let total = sizeAndTime(join(folder, newest)).bytes;
  for (const { name, bytes } of entries) {
    total += bytes;
    if (total <= most) continue;
    rmSync(join(folder, name.replace(/ids$/, "json")), { force: true });
    rmSync(join(folder, name), { force: true });
  }
}

function sizeAndTime(file: string): { bytes: number; time: number } {
  const found = statSync(file, { throwIfNoEntry: false });
  return { bytes: found?.size ?? 0, time: found?.mtimeMs ?? 0 };
}
