import { createHash } from "node:crypto";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { RunError } from "../base/errors.ts";
import { sentence } from "../base/sentence.ts";
import { Turns } from "../base/turns.ts";
import type { Ids } from "../batches/ids.ts";
import { diskError, makeFolders, readPieces, removeQuietly, writeDurably } from "../disk/files.ts";
import { IdsWriter, idsInFile, idWidth } from "../disk/ids-file.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { separator } from "../trained/reading.ts";
import { prune, touch } from "./cache.ts";
import { readPart, type TextPart, wholePieces } from "./texts.ts";

// Tokenised text is a file of ids, kept in a cache under a hash of the text and the tokenizer, so that a second run need not make it again.

export interface TokenisedText {
  readonly ids: Ids & { close(): void };
  /** Tokens that the vocabulary did not have. */
  readonly unknown: number;
}

export async function tokenise(
  parts: readonly TextPart[],
  textHash: string,
  tokenizer: Tokenizer,
  tokenizerHash: string,
  cache: string,
  turns = new Turns(),
): Promise<TokenisedText> {
  const stretches = parts.map((part) => ("text" in part ? part.text : [part.begin, part.end]));
  const key = createHash("sha256")
    .update(JSON.stringify([2, textHash, stretches, tokenizerHash]))
    .digest("hex")
    .slice(0, 32);
  const [file, facts] = [join(cache, `${key}.ids`), join(cache, `${key}.json`)];
  const known = readFacts(facts);
  if (known) {
    const ids = await turns.through(openIfWhole(file, tokenizer.size, known));
    if (ids) {
      touch(file, new Date());
      return { ids, unknown: known.unknown };
    }
  }
  const temporary = join(cache, `.${key}.${process.pid}.tmp`);
  try {
    makeFolders(cache);
    const counts = await write(parts, tokenizer, temporary, turns);
    renameSync(temporary, file);
    writeDurably(facts, JSON.stringify(counts));
    prune(cache, `${key}.ids`);
    return { ids: idsInFile(file, idWidth(tokenizer.size)), unknown: counts.unknown };
  } catch (error) {
    removeQuietly(temporary);
    const told = diskError(error, cache, "write tokenised text to");
    throw told instanceof RunError ? new RunError(sentence`${told.complaint} (XDG_CACHE_HOME sets another folder)`, told.facts) : told;
  }
}

interface Facts {
  readonly tokens: number;
  readonly unknown: number;
  /** Of the file of ids. */
  readonly sha256: string;
}

function readFacts(file: string): Facts | undefined {
  try {
    const facts = JSON.parse(readFileSync(file, "utf8"));
    return Number.isSafeInteger(facts?.tokens) && Number.isSafeInteger(facts?.unknown) ? facts : undefined;
  } catch {
    return undefined; // a cache that cannot be read is made again
  }
}

/** A file that is not what was written, whatever became of it, is made again. */
function* openIfWhole(file: string, vocab: number, { tokens, sha256 }: Facts): Generator<void, (Ids & { close(): void }) | undefined> {
  try {
    const hash = createHash("sha256");
    yield* readPieces(file, (piece) => hash.update(piece));
    if (hash.digest("hex") !== sha256) return undefined;
    return idsInFile(file, idWidth(vocab), 0, tokens);
  } catch {
    return undefined; // gone, or not ours to read
  }
}

async function write(parts: readonly TextPart[], tokenizer: Tokenizer, file: string, turns: Turns): Promise<Facts> {
  const writer = new IdsWriter(file, tokenizer.size);
  const seam = separator(tokenizer);
  let unknown = 0;
  const put = (text: string): void => {
    const ids = tokenizer.encode(text);
    if (tokenizer.unknown !== undefined) for (const id of ids) if (id === tokenizer.unknown) unknown++;
    writer.write(ids);
  };
  try {
    for (const [i, part] of parts.entries()) {
      if (i > 0 && seam !== undefined) writer.write(Int32Array.of(seam));
      for await (const piece of wholePieces(readPart(part))) {
        put(piece);
        if (turns.over) await turns.rest();
      }
    }
    return { tokens: writer.length, unknown, sha256: writer.digest() };
  } finally {
    writer.close();
  }
}
