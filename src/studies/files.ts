import { DataError } from "../base/errors.ts";
import { systemCode } from "../disk/files.ts";
import { readTextChunks } from "../disk/text-files.ts";

/** The text of a file, or nothing if there is no such file. */
export async function readIfThere(file: string): Promise<string | undefined> {
  const chunks: string[] = [];
  try {
    for await (const chunk of readTextChunks(file)) chunks.push(chunk);
    return chunks.join("");
  } catch (error) {
    if (error instanceof DataError && systemCode(error.cause) === "ENOENT") return undefined;
    throw error;
  }
}
