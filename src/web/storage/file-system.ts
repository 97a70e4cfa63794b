import { MemoryContent } from "./content.ts";
import type { StoredContent } from "./stored-content.ts";
import { SystemError } from "./system-error.ts";
import { type File, type Folder, type Node, nodeAt, type Place, pathOf, placeOf } from "./tree.ts";
import { folderOf, type Volume } from "./volume.ts";

// Names of files and folders, with the answers of a POSIX system: what is refused is refused for the same reason. Nothing here waits.

export interface Facts {
  readonly kind: "file" | "folder";
  readonly number: number;
  readonly size: number;
  readonly modified: number;
  readonly links: number;
}

export interface FileSystemOptions {
  /** Where files outlive the worker; without it they all lie in memory. */
  readonly volume?: Volume;
  /** Folders of which nothing outlives the worker. */
  readonly temporary?: readonly string[];
  /** Milliseconds since 1970, with fractions if it has them. */
  readonly now: () => number;
}

export class FileSystem {
  readonly volume: Volume | undefined;
  readonly #root: Folder;
  readonly #now: () => number;
  #last = 0;
  #next = 2;

  constructor({ volume, temporary = [], now }: FileSystemOptions) {
    this.volume = volume;
    this.#now = now;
    this.#root = volume?.root ?? folderOf(1, now(), undefined, false);
    for (const path of temporary) this.#makeTemporary(path);
  }

  /** A moment of its own: two changes never have the same one, since a file is told from what it was by its size and this. */
  time(): number {
    this.#last = Math.max(this.#now(), this.#last + 1 / 1024);
    return this.#last;
  }

  find(path: string, syscall: string): Node {
    const node = nodeAt(this.#root, path, syscall);
    if (node === undefined) throw new SystemError("ENOENT", syscall, path);
    return node;
  }

  facts(node: Node): Facts {
    const { kind, number, modified } = node;
    return kind === "file"
      ? { kind, number, modified, size: node.content.size, links: node.links }
      : { kind, number, modified, size: 0, links: 1 };
  }

  realPath(path: string): string {
    const { folder, name, node, ends } = placeOf(this.#root, path, "lstat");
    if (node === undefined) throw new SystemError("ENOENT", "lstat", path);
    if (node.kind === "folder") return pathOf(node);
    if (ends) throw new SystemError("ENOTDIR", "lstat", path);
    const around = pathOf(folder);
    return `${around === "/" ? "" : around}/${name}`;
  }

  names(path: string): [string, Node][] {
    const node = this.find(path, "scandir");
    if (node.kind === "file") throw new SystemError("ENOTDIR", "scandir", path);
    return [...node.names].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  makeFolder(path: string): void {
    const { folder, name, node } = placeOf(this.#root, path, "mkdir");
    if (node !== undefined) throw new SystemError("EEXIST", "mkdir", path);
    this.#place(folder, name, folderOf(this.#number(), this.time(), folder, folder.kept));
  }

  /** A file that is there, or a new one. */
  file(path: string, { create, alone }: { readonly create: boolean; readonly alone: boolean }): Node {
    const { folder, name, node, ends, last } = placeOf(this.#root, path, "open");
    if (create && ends && last === "name") throw new SystemError("EISDIR", "open", path);
    if (node !== undefined) {
      if (alone) throw new SystemError("EEXIST", "open", path);
      if (node.kind === "file" && ends) throw new SystemError("ENOTDIR", "open", path);
      return node;
    }
    if (!create) throw new SystemError("ENOENT", "open", path);
    const { volume } = this;
    const content = folder.kept && volume ? volume.content() : new MemoryContent();
    const made: File = { kind: "file", number: this.#number(), content, modified: this.time(), links: 1, open: 0, kept: folder.kept };
    this.#place(folder, name, made);
    return made;
  }

  link(from: string, to: string): void {
    const node = nodeAt(this.#root, from, "link");
    if (node === undefined) throw new SystemError("ENOENT", "link", from, to);
    const target = placeOf(this.#root, to, "link", from);
    if (target.node !== undefined) throw new SystemError("EEXIST", "link", from, to);
    if (target.ends) throw new SystemError("ENOENT", "link", from, to);
    if (node.kind === "folder") throw new SystemError("EPERM", "link", from, to);
    if (node.kept !== target.folder.kept) throw new SystemError("EXDEV", "link", from, to);
    node.links++;
    this.#place(target.folder, target.name, node);
  }

  unlink(path: string): void {
    const { folder, name, node, ends } = placeOf(this.#root, path, "unlink");
    if (node === undefined) throw new SystemError("ENOENT", "unlink", path);
    if (node.kind === "folder") throw new SystemError("EISDIR", "unlink", path);
    if (ends) throw new SystemError("ENOTDIR", "unlink", path);
    this.#unplace(folder, name);
    this.#dropName(node);
  }

  removeFolder(path: string): void {
    const { folder, name, node, last } = placeOf(this.#root, path, "rmdir");
    if (last !== "name") throw new SystemError(last === "." ? "EINVAL" : "ENOTEMPTY", "rmdir", path);
    if (node === undefined) throw new SystemError("ENOENT", "rmdir", path);
    if (node.kind === "file") throw new SystemError("ENOTDIR", "rmdir", path);
    if (node === this.#root) throw new SystemError("EBUSY", "rmdir", path);
    if (node.names.size > 0) throw new SystemError("ENOTEMPTY", "rmdir", path);
    this.#unplace(folder, name);
  }

  rename(from: string, to: string): void {
    const old = placeOf(this.#root, from, "rename");
    const next = placeOf(this.#root, to, "rename", from);
    const refuse = (code: "ENOENT" | "EINVAL" | "ENOTEMPTY" | "ENOTDIR" | "EISDIR" | "EBUSY" | "EXDEV") =>
      new SystemError(code, "rename", from, to);
    const { node } = old;
    if (old.last !== "name" || next.last !== "name" || node === this.#root || next.node === this.#root) throw refuse("EBUSY");
    if (node === undefined) throw refuse("ENOENT");
    if (node.kind === "file" && (old.ends || next.ends)) throw refuse("ENOTDIR");
    if (node.kind === "folder" && isWithin(next.folder, node)) throw refuse("EINVAL");
    if (next.node?.kind === "folder" && isWithin(old.folder, next.node)) throw refuse("ENOTEMPTY");
    if (node === next.node) return;
    if (next.node?.kind === "folder" && node.kind === "file") throw refuse("EISDIR");
    if (next.node?.kind === "file" && node.kind === "folder") throw refuse("ENOTDIR");
    if (next.node?.kind === "folder" && next.node.names.size > 0) throw refuse("ENOTEMPTY");
    if (node.kept !== next.folder.kept) throw refuse("EXDEV");
    this.#move(node, old, next);
  }

  touch(path: string, modified: number): void {
    const node = this.find(path, "utime");
    node.modified = modified;
    if (node.kept) this.volume?.changed();
  }

  /** What nobody can name, and nobody has open, is gone. */
  letGo(file: File): void {
    if (file.open > 0) return;
    if (file.links > 0) file.content.trim();
    else file.content.release();
  }

  /** A file's bytes are safe, if its name is. One that the disk does not know yet becomes safe with its name. */
  syncFile(file: File): void {
    if (!file.kept || file.links === 0) return;
    if ((file.content as StoredContent).outdated) this.volume?.commit();
    else this.volume?.flush();
  }

  /** All names are safe, with what has them. */
  syncFolder(folder: Folder): void {
    if (folder.kept) this.volume?.commit();
  }

  #number(): number {
    return this.volume ? this.volume.next++ : this.#next++;
  }

  #move(node: Node, old: Place, next: Place): void {
    this.#unplace(old.folder, old.name);
    this.#place(next.folder, next.name, node);
    if (next.node?.kind === "file") this.#dropName(next.node);
    if (node.kind === "folder") node.parent = next.folder;
  }

  #place(folder: Folder, name: string, node: Node): void {
    folder.names.set(name, node);
    this.#changed(folder);
  }

  #unplace(folder: Folder, name: string): void {
    folder.names.delete(name);
    this.#changed(folder);
  }

  #changed(folder: Folder): void {
    folder.modified = this.time();
    if (folder.kept) this.volume?.changed();
  }

  #dropName(file: File): void {
    file.links--;
    this.letGo(file);
  }

  #makeTemporary(path: string): void {
    let folder = this.#root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      const made = folderOf(this.#number(), this.time(), folder, false);
      folder.names.set(name, made); // also over one that is kept: it was left by somebody to whom it was not temporary
      folder = made;
    }
  }
}

function isWithin(folder: Folder, around: Folder): boolean {
  for (let at = folder; ; at = at.parent) {
    if (at === around) return true;
    if (at.parent === at) return false;
  }
}
