import { homedir } from "node:os";
import { join } from "node:path";

/** Where tokenised text is kept between runs. */
export const cacheFolder = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "qkv");
