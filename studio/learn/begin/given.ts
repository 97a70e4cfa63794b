import { signal } from "@preact/signals";
import type { PageFile } from "../../../src/worker/computer.ts";
import { type DataFormat, type Found, formatIn, formatOf, foundIn } from "./found.ts";

// The data of the training that is being thought about. It is no part of the address: a book does not fit there.

export interface GivenData {
  readonly name: string;
  readonly files: readonly PageFile[];
  readonly format: DataFormat;
  readonly found: Found;
  /** The beginning of it. */
  readonly text: string;
  /** Whether only the beginning was looked at. */
  readonly isPart: boolean;
}

export const given = signal<GivenData | undefined>(undefined);

/** A file of its own to validate with; a part of the data if left out. */
export const givenValid = signal<File | undefined>(undefined);

/** Bytes that are looked at to tell what data is; the rest is read when it is trained on. */
const mostBytes = 8_000_000;

export async function giveFiles(files: readonly File[]): Promise<void> {
  const [first] = files;
  if (!first) return;
  const isPart = first.size > mostBytes;
  const read = await first.slice(0, mostBytes).text();
  const text = isPart ? read.slice(0, read.lastIndexOf("\n") + 1) || read : read;
  const format = formatOf(first.name);
  givenValid.value = undefined;
  given.value = { name: first.name, files, format, found: foundIn(text, format, first.name), text, isPart };
}

export function giveText(text: string, wish?: string): void {
  const format = wish === undefined ? formatIn(text) : formatOf(wish);
  const name = wish ?? `pasted.${format}`;
  givenValid.value = undefined;
  given.value = { name, files: [{ text, name }], format, found: foundIn(text, format, name), text, isPart: false };
}
