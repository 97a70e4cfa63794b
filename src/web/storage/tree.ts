import type { Content } from "./content.ts";
import { SystemError } from "./system-error.ts";

/** A folder, with what it holds by its names. */
export interface Folder {
  readonly kind: "folder";
  readonly number: number;
  readonly names: Map<string, Node>;
  /** The one around it; the outermost is around itself. */
  parent: Folder;
  modified: number;
  /** Whether it outlives the worker. */
  readonly kept: boolean;
}

/** A file, which may have several names, or none while it is open. */
export interface File {
  readonly kind: "file";
  readonly number: number;
  readonly content: Content;
  modified: number;
  links: number;
  /** How often it is open. */
  open: number;
  readonly kept: boolean;
}

export type Node = Folder | File;

/** A name in a folder, and what has it. */
export interface Place {
  readonly folder: Folder;
  readonly name: string;
  readonly node?: Node;
  /** Whether the path says, by its end, that it is a folder. */
  readonly ends: boolean;
  /** How the path ends: a folder that is called "." or ".." can be looked into, and not moved or removed. */
  readonly last: "name" | "." | "..";
}

/** Finds the folder of a path's last name. As in any system, each folder on the way must be there, also before a "..". */
export function placeOf(root: Folder, path: string, syscall: string, dest?: string): Place {
  const told = dest === undefined ? [path] : [dest, path];
  const parts = path.split("/").filter((name) => name !== "");
  const names = parts.filter((name) => name !== ".");
  const last = parts.at(-1) === "." ? "." : parts.at(-1) === ".." ? ".." : "name";
  if (path === "") throw new SystemError("ENOENT", syscall, ...told);
  let folder = root;
  const ends = /\/\.?$/.test(path);
  for (const [i, name] of names.entries()) {
    const node = name === ".." ? folder.parent : folder.names.get(name);
    if (i === names.length - 1 && name !== "..") {
      if (ends && last === "." && node?.kind !== "folder") throw new SystemError(node ? "ENOTDIR" : "ENOENT", syscall, ...told);
      return { folder, name, node, ends, last };
    }
    if (node === undefined) throw new SystemError("ENOENT", syscall, ...told);
    if (node.kind === "file") throw new SystemError("ENOTDIR", syscall, ...told);
    folder = node;
  }
  return { folder: folder.parent, name: nameIn(folder), node: folder, ends: true, last };
}

/** What a path leads to. */
export function nodeAt(root: Folder, path: string, syscall: string): Node | undefined {
  const { node, ends } = placeOf(root, path, syscall);
  if (node?.kind === "file" && ends) throw new SystemError("ENOTDIR", syscall, path);
  return node;
}

const nameIn = (folder: Folder): string => [...folder.parent.names].find(([, node]) => node === folder)?.[0] ?? "";

/** The path of a folder, from the outermost on. */
export function pathOf(folder: Folder): string {
  if (folder.parent === folder) return "/";
  const around = pathOf(folder.parent);
  return `${around === "/" ? "" : around}/${nameIn(folder)}`;
}
