/** The bytes of one file. */
export interface Content {
  readonly size: number;
  /** How many bytes came; fewer than wanted only at the end. */
  read(into: Uint8Array, at: number): number;
  /** All of it; what lies between the end and a place behind it becomes zeros. */
  write(from: Uint8Array, at: number): void;
  resize(size: number): void;
  /** What is held for more that may come is given back. */
  trim(): void;
  /** Nobody reads it again. */
  release(): void;
}

const pieceBytes = 2 ** 20;

/** Bytes that go with the worker. They lie in pieces, so that a file which grows is never copied. */
export class MemoryContent implements Content {
  #pieces: Uint8Array[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  read(into: Uint8Array, at: number): number {
    const count = Math.max(0, Math.min(into.length, this.#size - at));
    for (const { piece, from, done, some } of this.#stretches(at, count)) into.set(piece.subarray(from, from + some), done);
    return count;
  }

  write(from: Uint8Array, at: number): void {
    if (at + from.length > this.#size) this.resize(at + from.length);
    for (const { piece, from: begin, done, some } of this.#stretches(at, from.length)) piece.set(from.subarray(done, done + some), begin);
  }

  resize(size: number): void {
    const count = Math.ceil(size / pieceBytes);
    const last = this.#pieces.length - 1;
    if (last >= 0) this.#pieces[last] = stretched(this.#pieces[last], count - 1 > last ? pieceBytes : size - last * pieceBytes);
    while (this.#pieces.length < count)
      this.#pieces.push(new Uint8Array(this.#pieces.length < count - 1 ? pieceBytes : room(size - this.#pieces.length * pieceBytes)));
    this.#pieces.length = count;
    if (size < this.#size) this.#pieces.at(-1)?.fill(0, size - (count - 1) * pieceBytes); // what comes back later comes back as zeros
    this.#size = size;
  }

  trim(): void {}

  release(): void {
    this.#pieces = [];
    this.#size = 0;
  }

  *#stretches(at: number, count: number) {
    for (let done = 0; done < count; ) {
      const from = (at + done) % pieceBytes;
      const some = Math.min(count - done, pieceBytes - from);
      yield { piece: this.#pieces[Math.floor((at + done) / pieceBytes)], from, done, some };
      done += some;
    }
  }
}

/** A small file takes little, and one that grows is copied few times. */
const room = (bytes: number): number => Math.min(pieceBytes, Math.max(256, 2 ** Math.ceil(Math.log2(bytes))));

function stretched(piece: Uint8Array, bytes: number): Uint8Array {
  if (bytes <= piece.length) return piece;
  const longer = new Uint8Array(room(bytes));
  longer.set(piece);
  return longer;
}
