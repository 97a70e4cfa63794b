// Messages as they go over a socket or a pipe: what a page's worker is told and says, with everything that a page can copy and JSON cannot. A message is a
// text of JSON, or bytes: the length of that text, the text, and the parts that it points to, each at a multiple of eight.

/** A file on its way. */
export class CarriedFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** When it was last changed, in milliseconds. */
  readonly modified: number;

  constructor(name: string, bytes: Uint8Array<ArrayBuffer>, modified: number) {
    this.name = name;
    this.bytes = bytes;
    this.modified = modified;
  }
}

export type Frame = string | Uint8Array<ArrayBuffer>;

/** Bytes of one message to a studio: a book, or a small model that is dropped into the page. */
export const mostBytes = 2 ** 28;

/** Whether a studio would hang up on it. */
export const isTooLong = (frame: Frame): boolean => 3 * frame.length > mostBytes && new Blob([frame]).size > mostBytes;

/** What JSON has no word for stands under this name. */
const mark = "$";
/** Lists of so many numbers go as bytes: as text they would be three times as long, and slow to read. */
const manyNumbers = 64;
const align = 8;
/** Lists and objects in each other: far more than any message has, and far fewer than whoever walks through them can bear. */
const deepest = 200;

const arrays = {
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const;
type ArrayKind = keyof typeof arrays;

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

const isMany = (value: readonly unknown[]): boolean => value.length >= manyNumbers && value.every((one) => typeof one === "number");

const mapped = (value: object, each: (one: unknown) => unknown): object =>
  Object.fromEntries(Object.entries(value).map(([name, one]) => [name, each(one)])); // "__proto__" too is a name like others

/** A message whose files have been read. What cannot be sent at all is refused at once, before anything is waited for. */
export function carried(message: unknown): Promise<unknown> {
  const reading: Promise<void>[] = [];
  const walk = (value: unknown): unknown => {
    if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`a ${typeof value} cannot be sent`);
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof CarriedFile) return value;
    if (value instanceof File) {
      const place: { file?: CarriedFile } = {};
      reading.push(
        value.arrayBuffer().then((bytes) => {
          place.file = new CarriedFile(value.name, new Uint8Array(bytes), value.lastModified);
        }),
      );
      return new Pending(place);
    }
    if (Array.isArray(value)) return isMany(value) ? value : value.map(walk);
    if (!isPlain(value)) throw new TypeError("only plain data and files can be sent");
    return mapped(value, walk);
  };
  const held = walk(message);
  if (reading.length === 0) return Promise.resolve(held);
  return Promise.all(reading).then(() => settled(held));
}

/** Where a file will be when it was read. */
class Pending {
  readonly place: { file?: CarriedFile };

  constructor(place: { file?: CarriedFile }) {
    this.place = place;
  }
}

function settled(value: unknown): unknown {
  if (value instanceof Pending) return value.place.file;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof CarriedFile) return value;
  if (Array.isArray(value)) return isMany(value) ? value : value.map(settled);
  return mapped(value, settled);
}

/** A message as it goes; its files must have been read. */
export function encoded(message: unknown): Frame {
  const parts: Uint8Array[] = [];
  const part = (bytes: Uint8Array): number => parts.push(bytes) - 1;
  const walk = (value: unknown): unknown => {
    if (typeof value === "number")
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { [mark]: Object.is(value, -0) ? "-0" : String(value) };
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof CarriedFile) return { [mark]: "file", part: part(value.bytes), name: value.name, modified: value.modified };
    if (ArrayBuffer.isView(value))
      return { [mark]: kindOf(value), part: part(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
    if (Array.isArray(value)) {
      if (!isMany(value)) return value.map(walk);
      return { [mark]: "numbers", part: part(new Uint8Array(Float64Array.from(value).buffer)) };
    }
    const plain = mapped(value, walk);
    return Object.hasOwn(value, mark) ? { [mark]: "object", value: plain } : plain;
  };
  const plain = walk(message);
  if (parts.length === 0) return JSON.stringify(plain);
  return joined(new TextEncoder().encode(JSON.stringify({ message: plain, sizes: parts.map(({ length }) => length) })), parts);
}

function kindOf(value: ArrayBufferView): ArrayKind {
  const found = (Object.keys(arrays) as ArrayKind[]).find((kind) => value instanceof arrays[kind]);
  if (found === undefined) throw new TypeError("an array of this kind cannot be sent");
  return found;
}

const aligned = (at: number): number => Math.ceil(at / align) * align;

function joined(head: Uint8Array, parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const begin = aligned(4 + head.length);
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + aligned(length), begin));
  new DataView(all.buffer).setUint32(0, head.length, true);
  all.set(head, 4);
  let at = begin;
  for (const bytes of parts) {
    all.set(bytes, at);
    at = aligned(at + bytes.length);
  }
  return all;
}

/** The message of a frame; `file` makes what a file is to whoever reads it. Throws what is no message. */
export function decoded(frame: Frame, file: (carried: CarriedFile) => unknown = (carried) => carried): unknown {
  const { plain, part } = typeof frame === "string" ? { plain: JSON.parse(frame) as unknown, part: none } : opened(frame);
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (depth > deepest) throw new TypeError("lists in lists in lists");
    const inner = (one: unknown) => walk(one, depth + 1);
    if (Array.isArray(value)) return value.map(inner);
    if (!Object.hasOwn(value, mark)) return mapped(value, inner);
    const told = value as Readonly<Record<string, unknown>>;
    const kind = told[mark];
    switch (kind) {
      case "NaN":
      case "Infinity":
      case "-Infinity":
      case "-0":
        return Number(kind);
      case "object":
        return mapped(told.value as object, inner);
      case "numbers":
        return Array.from(new Float64Array(part(told.part).buffer));
      case "file": {
        const { name, modified } = told;
        if (typeof name !== "string" || typeof modified !== "number") throw new TypeError("a file without a name");
        return file(new CarriedFile(name, part(told.part), modified));
      }
      default: {
        if (typeof kind !== "string" || !Object.hasOwn(arrays, kind)) throw new TypeError("something unknown was sent");
        return new arrays[kind as ArrayKind](part(told.part).buffer);
      }
    }
  };
  return walk(plain, 0);
}

type Part = (number: unknown) => Uint8Array<ArrayBuffer>;

const none: Part = () => {
  throw new TypeError("a text has no parts");
};

function opened(frame: Uint8Array): { readonly plain: unknown; readonly part: Part } {
  const length = new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(0, true);
  const head = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(frame.subarray(4, 4 + length))) as {
    readonly message: unknown;
    readonly sizes: readonly number[];
  };
  const places = new Map<unknown, { readonly at: number; readonly size: number }>();
  let at = aligned(4 + length);
  for (const size of head.sizes) {
    if (!Number.isSafeInteger(size) || size < 0 || at + size > frame.length) throw new TypeError("a part that is not there");
    places.set(places.size, { at, size });
    at = aligned(at + size);
  }
  return {
    plain: head.message,
    part(number) {
      const place = places.get(number);
      if (!place) throw new TypeError("a part that is not there");
      places.delete(number); // each belongs to one thing, so what is read is never more than what was sent
      return new Uint8Array(frame.subarray(place.at, place.at + place.size)); // a copy of its own, which begins where arrays may begin
    },
  };
}
