import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { RunError } from "../base/errors.ts";
import { cacheFolder } from "../data/cache.ts";
import { diskError, makeFolders, writeDurably } from "../disk/files.ts";
import { lockRun } from "../runs/folder.ts";
import type { Home } from "../worker/home.ts";

// What a studio has on the disk: the folder of runs, which people have too, and in it `.studio`, which is its own.

/** How a child process begins. */
export interface ChildSettings {
  /** The folder of runs. */
  readonly folder: string;
  readonly threads?: number;
}

export const ownFolder = (folder: string): string => join(folder, ".studio");

export function homeOf({ folder, threads }: ChildSettings): Home {
  const own = ownFolder(folder);
  return {
    called: "studio",
    runs: resolve(folder),
    data: join(own, "data"),
    models: join(own, "models"),
    cache: cacheFolder(),
    fetches: false,
    ...(threads !== undefined && { threads }),
  };
}

/** Makes the studio's own folder, and has it alone; gives back what lets go of it. */
export function takeStudio(folder: string): () => void {
  const own = ownFolder(folder);
  try {
    makeFolders(own);
    chmodSync(own, 0o700);
    if (!existsSync(join(own, ".gitignore"))) writeDurably(join(own, ".gitignore"), "*\n"); // a token is nobody else's
  } catch (error) {
    throw diskError(error, own, "make the studio's folder");
  }
  try {
    return lockRun(own);
  } catch (error) {
    if (!(error instanceof RunError) || error.code !== "run.busy") throw error;
    const [owner] = readFileSync(join(own, "lock"), "utf8").split(" ");
    throw new RunError(`another studio (process ${owner}) has ${folder} open; use that one, stop it, or choose another folder`, {
      code: "run.busy",
    });
  }
}

/** The same for as long as the folder is there: a tab that was open finds its way back when the studio starts again. */
export function tokenOf(folder: string): string {
  const file = join(ownFolder(folder), "token");
  try {
    const known = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
    const token = /^[\w-]{43}$/.test(known) ? known : randomBytes(32).toString("base64url");
    if (token !== known) writeDurably(file, `${token}\n`);
    chmodSync(file, 0o600);
    return token;
  } catch (error) {
    throw diskError(error, file, "keep the token in");
  }
}
