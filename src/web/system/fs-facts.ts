import type { Facts } from "../storage/file-system.ts";

/** Of a file or a folder, what anybody here asks for. */
export interface Stats {
  readonly ino: number;
  readonly size: number;
  readonly nlink: number;
  readonly mtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

export const statsOf = ({ kind, number, size, modified, links }: Facts): Stats => ({
  ino: number,
  size,
  nlink: links,
  mtimeMs: modified,
  isFile: () => kind === "file",
  isDirectory: () => kind === "folder",
});

/** A name in a folder. */
export interface Dirent {
  readonly name: string;
  readonly parentPath: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

export const direntOf = (name: string, parentPath: string, kind: Facts["kind"]): Dirent => ({
  name,
  parentPath,
  isFile: () => kind === "file",
  isDirectory: () => kind === "folder",
});
