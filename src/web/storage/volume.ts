import { RunError } from "../../base/errors.ts";
import { Blocks, blockBytes, type Extent } from "./blocks.ts";
import { closeHandles, type Handle, type Handles } from "./handle.ts";
import { IndexPair } from "./index-pair.ts";
import { StoredContent } from "./stored-content.ts";
import { asSystemError } from "./system-error.ts";
import type { File, Folder } from "./tree.ts";

// Files that outlive the worker. Names, sizes and places change in memory; `commit` makes them true on the disk, all at once.

interface Index {
  readonly format: 1;
  /** What this storage is called, as a machine has a name. */
  readonly host: string;
  /** The number that the next file or folder gets. */
  readonly next: number;
  /** [number, modified, size, first block, count, first block, count …] */
  readonly files: readonly (readonly number[])[];
  readonly root: StoredFolder;
}

interface StoredFolder {
  readonly number: number;
  readonly modified: number;
  readonly folders: Readonly<Record<string, StoredFolder>>;
  /** The numbers of its files. */
  readonly files: Readonly<Record<string, number>>;
}

export interface VolumeOptions {
  /** The name of a new storage. */
  readonly host: string;
  readonly now: number;
  /** Calls back in a while: what nobody syncs comes to the disk all the same. */
  readonly later: (work: () => void) => void;
  /** So many free blocks are not worth moving files for. */
  readonly smallestWaste?: number;
}

export class Volume {
  readonly data: Handle;
  readonly blocks: Blocks;
  readonly root: Folder;
  readonly host: string;
  next: number;
  readonly #handles: Handles;
  readonly #index: IndexPair;
  readonly #smallestWaste: number;
  readonly #later: (work: () => void) => void;
  #dirty = false;
  #waits = false;
  #closed = false;

  constructor(handles: Handles, { host, now, later, smallestWaste = 1024 }: VolumeOptions) {
    this.#smallestWaste = smallestWaste;
    this.#handles = handles;
    this.#later = later;
    this.#index = new IndexPair(handles.indexes);
    this.data = handles.data;
    const found = this.#index.open();
    if (found === undefined) {
      this.host = host;
      this.next = 2;
      this.root = folderOf(1, now);
      this.blocks = new Blocks([]);
      this.#dirty = true;
    } else {
      const index = parsed(found.text);
      this.host = index.host;
      this.next = index.next;
      this.blocks = new Blocks(index.files.flatMap(([, , , ...numbers]) => extentsOf(numbers)));
      const files = new Map(index.files.map((file) => [file[0], this.#fileOf(file)]));
      this.root = opened(index.root, files);
    }
    if (this.data.size() > this.blocks.end * blockBytes) this.data.truncate(this.blocks.end * blockBytes); // of those who never came to say where it belongs
  }

  /** A new file's bytes. */
  content(): StoredContent {
    return new StoredContent(this);
  }

  /** Something is other than the index on the disk says. */
  changed(): void {
    this.#dirty = true;
    if (this.#waits) return;
    this.#waits = true;
    this.#later(() => {
      this.#waits = false;
      if (this.#closed) return;
      try {
        this.commit();
      } catch {
        // a disk that is full says so to whoever syncs next
      }
    });
  }

  /** Everything written so far is on the disk, under its names, when this returns. If it throws, what was there before is. */
  commit(): void {
    if (!this.#dirty) return;
    const files = new Set<File>();
    const root = stored(this.root, files);
    const contents = [...files].map(({ content }) => content as StoredContent);
    try {
      this.data.flush();
      for (const content of contents) content.offered();
      this.#index.write(
        JSON.stringify({ format: 1, host: this.host, next: this.next, files: [...files].map(numbersOf), root } satisfies Index),
      );
    } catch (error) {
      throw asSystemError(error, "fsync");
    }
    for (const content of contents) content.accepted();
    this.#dirty = false;
    this.#settle();
  }

  /**
   * Gives room back to the browser that removed files have left between others: those behind are moved, and become true there with the next index.
   * Only if it is worth it: more than a quarter of all, and not little.
   */
  compact(): void {
    this.commit();
    const { end, unused } = this.blocks;
    if (unused < Math.max(this.#smallestWaste, end / 4)) return;
    const files = new Set<File>();
    stored(this.root, files);
    try {
      for (const { content } of files) (content as StoredContent).moveBefore(end - unused);
    } catch (error) {
      throw asSystemError(error, "write");
    }
    this.commit();
    this.#settle(1);
  }

  /** What was written is on the disk; where it belongs is not yet. */
  flush(): void {
    try {
      this.data.flush();
    } catch (error) {
      throw asSystemError(error, "fsync");
    }
  }

  close(): void {
    if (this.#closed) return;
    this.commit();
    this.#closed = true;
    closeHandles(this.#handles);
  }

  /** What no index refers to is free, and given back to the browser if much of it is at the end. */
  #settle(spare?: number): void {
    if (!this.blocks.settle(spare)) return;
    try {
      this.data.truncate(this.blocks.end * blockBytes);
    } catch {
      // it stays longer than it needs to be, until next time
    }
  }

  #fileOf([number, modified, size, ...numbers]: readonly number[]): File {
    return {
      kind: "file",
      number,
      modified,
      content: new StoredContent(this, { size, extents: extentsOf(numbers) }),
      links: 0,
      open: 0,
      kept: true,
    };
  }
}

export function folderOf(number: number, modified: number, parent?: Folder, kept = true): Folder {
  const folder = { kind: "folder", number, names: new Map(), modified, kept } as unknown as Folder;
  folder.parent = parent ?? folder;
  return folder;
}

function parsed(text: string): Index {
  const index = JSON.parse(text) as { readonly format: number };
  if (index.format !== 1)
    throw new RunError("what this page has stored was written by a newer version of qkv; load that version of the page", {
      code: "run.damaged",
    });
  return index as Index;
}

const extentsOf = (numbers: readonly number[]): Extent[] =>
  Array.from({ length: numbers.length / 2 }, (_, i) => ({ first: numbers[2 * i], count: numbers[2 * i + 1] }));

const numbersOf = ({ number, modified, content }: File): number[] => [
  number,
  modified,
  content.size,
  ...(content as StoredContent).extents.flatMap(({ first, count }) => [first, count]),
];

function opened({ number, modified, folders, files: numbers }: StoredFolder, files: ReadonlyMap<number, File>, parent?: Folder): Folder {
  const folder = folderOf(number, modified, parent);
  for (const [name, inner] of Object.entries(folders)) folder.names.set(name, opened(inner, files, folder));
  for (const [name, of] of Object.entries(numbers)) {
    const file = files.get(of) as File;
    file.links++;
    folder.names.set(name, file);
  }
  return folder;
}

/** A folder as the index has it; its files, each once, are put into `files`. What lives in memory only is left out. */
function stored({ number, modified, names }: Folder, files: Set<File>): StoredFolder {
  const result = { number, modified, folders: Object.create(null), files: Object.create(null) };
  for (const [name, node] of names) {
    if (!node.kept) continue;
    if (node.kind === "folder") result.folders[name] = stored(node, files);
    else {
      files.add(node);
      result.files[name] = node.number;
    }
  }
  return result;
}
