import { dirname } from "node:path";
import { diskError, makeFolders, writeDurably } from "../disk/files.ts";

/** Writes what a command was asked for with --out, with the folders on the way. */
export function writeOutput(file: string, content: Uint8Array | string): void {
  try {
    makeFolders(dirname(file));
  } catch (error) {
    throw diskError(error, dirname(file), "make the folder");
  }
  writeDurably(file, typeof content === "string" ? content : [content]);
}
