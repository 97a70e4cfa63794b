import { halfBits, halfValues } from "./half.ts";

// How GGUF stores the numbers of a tensor: as they are, or in blocks of a row with a scale for each. Names and layouts are ggml's.

export interface GgufType {
  /** Its number in a file. */
  readonly id: number;
  /** So many numbers stand together, in so many bytes. */
  readonly block: number;
  readonly bytes: number;
  /** Turns whole blocks into numbers. */
  read(bytes: DataView, into: Float32Array): void;
}

/** A type whose blocks are read one by one: `read(bytes, where the block begins, into, where its first number goes)`. */
function blocks(id: number, block: number, bytes: number, readBlock: ReadBlock): GgufType {
  return {
    ...{ id, block, bytes },
    read(view, into) {
      const halves = halfValues();
      const half = (at: number): number => halves[view.getUint16(at, true)];
      for (let at = 0, to = 0; at < view.byteLength; at += bytes, to += block) readBlock({ view, half }, at, into, to);
    },
  };
}

interface BlockBytes {
  readonly view: DataView;
  /** The half that stands at a byte. */
  half(at: number): number;
}
type ReadBlock = (bytes: BlockBytes, at: number, into: Float32Array, to: number) => void;

/** What a block's whole numbers stand for: scale · (q - middle) + least. */
type Steps = (bytes: BlockBytes, at: number) => { readonly scale: number; readonly middle: number; readonly least: number };

/** 32 numbers of 4 bits: the first 16 in the lower halves of 16 bytes, the others in the upper. */
const fours = (scaleBytes: number, steps: Steps): ReadBlock => {
  return (bytes, at, into, to) => {
    const { scale, middle, least } = steps(bytes, at);
    for (let i = 0; i < 16; i++) {
      const byte = bytes.view.getUint8(at + scaleBytes + i);
      into[to + i] = scale * ((byte & 15) - middle) + least;
      into[to + 16 + i] = scale * ((byte >> 4) - middle) + least;
    }
  };
};

/** The same with a fifth bit, number by number in four bytes before them. */
const fives = (scaleBytes: number, steps: Steps): ReadBlock => {
  return (bytes, at, into, to) => {
    const { scale, middle, least } = steps(bytes, at);
    const high = bytes.view.getUint32(at + scaleBytes, true);
    for (let i = 0; i < 16; i++) {
      const byte = bytes.view.getUint8(at + scaleBytes + 4 + i);
      into[to + i] = scale * (((byte & 15) | (((high >>> i) & 1) << 4)) - middle) + least;
      into[to + 16 + i] = scale * (((byte >> 4) | (((high >>> (i + 16)) & 1) << 4)) - middle) + least;
    }
  };
};

/** A scale, and numbers that count from the middle. */
const centred = (middle: number): Steps => {
  return (bytes, at) => ({ scale: bytes.half(at), middle, least: -0 }); // adding -0 changes no number, not even -0
};

/** A scale and the least number. */
const offset: Steps = (bytes, at) => ({ scale: bytes.half(at), middle: 0, least: bytes.half(at + 2) });

/** 256 numbers in eight groups, each with a scale and a least number of 6 bits, which are packed into 12 bytes after their own two scales. */
const groups = (highBytes: number): ReadBlock => {
  return (bytes, at, into, to) => {
    const { view } = bytes;
    const [scale, least] = [bytes.half(at), bytes.half(at + 2)];
    const low = at + 16 + highBytes;
    for (let group = 0; group < 8; group++) {
      const { s, m } = scaleAndLeast(view, at + 4, group);
      const [step, under] = [scale * s, least * m];
      const shift = (group % 2) * 4; // two groups share 32 bytes
      for (let i = 0; i < 32; i++) {
        const fifth = highBytes === 0 ? 0 : ((view.getUint8(at + 16 + i) >> group) & 1) << 4;
        into[to + group * 32 + i] = step * (((view.getUint8(low + (group >> 1) * 32 + i) >> shift) & 15) | fifth) - under;
      }
    }
  };
};

/** Groups 0 to 3 have their 6 bits in a byte each; of the others four bits stand behind, and two in the free bits of those bytes. */
function scaleAndLeast(view: DataView, at: number, group: number): { s: number; m: number } {
  const byte = (i: number): number => view.getUint8(at + i);
  if (group < 4) return { s: byte(group) & 63, m: byte(group + 4) & 63 };
  const four = byte(group + 4);
  return { s: (four & 15) | ((byte(group - 4) >> 6) << 4), m: (four >> 4) | ((byte(group) >> 6) << 4) };
}

/** 256 numbers of 6 bits: the lower four in 128 bytes, the upper two in 64, scales of one byte for each 16, and the scale of these. */
const readQ6K: ReadBlock = ({ view, half }, at, into, to) => {
  const scale = half(at + 208);
  for (let i = 0; i < 256; i++) {
    const [part, quarter, place] = [i >> 7, (i >> 5) & 3, i & 31]; // two parts of four quarters of 32
    const low = (view.getUint8(at + part * 64 + (quarter & 1) * 32 + place) >> ((quarter >> 1) * 4)) & 15;
    const high = (view.getUint8(at + 128 + part * 32 + place) >> (quarter * 2)) & 3;
    into[to + i] = scale * view.getInt8(at + 192 + (i >> 4)) * ((low | (high << 4)) - 32);
  }
};

const readF32: GgufType["read"] = (view, into) => {
  for (let i = 0; i < into.length; i++) into[i] = view.getFloat32(4 * i, true);
};

const readF16: GgufType["read"] = (view, into) => {
  const halves = halfValues();
  for (let i = 0; i < into.length; i++) into[i] = halves[view.getUint16(2 * i, true)];
};

/** A brain float is the upper half of a float32. */
const readBF16: GgufType["read"] = (view, into) => {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let i = 0; i < into.length; i++) bits[i] = view.getUint16(2 * i, true) << 16;
};

/** The types that are read, by their names. */
export const ggufTypes = {
  F32: { id: 0, block: 1, bytes: 4, read: readF32 },
  F16: { id: 1, block: 1, bytes: 2, read: readF16 },
  BF16: { id: 30, block: 1, bytes: 2, read: readBF16 },
  Q4_0: blocks(2, 32, 18, fours(2, centred(8))),
  Q4_1: blocks(3, 32, 20, fours(4, offset)),
  Q5_0: blocks(6, 32, 22, fives(2, centred(16))),
  Q5_1: blocks(7, 32, 24, fives(4, offset)),
  Q8_0: blocks(8, 32, 34, ({ view, half }, at, into, to) => {
    const scale = half(at);
    for (let i = 0; i < 32; i++) into[to + i] = scale * view.getInt8(at + 2 + i);
  }),
  Q4_K: blocks(12, 256, 144, groups(0)),
  Q5_K: blocks(13, 256, 176, groups(32)),
  Q6_K: blocks(14, 256, 210, readQ6K),
} as const satisfies Record<string, GgufType>;

export type GgufTypeName = keyof typeof ggufTypes;
export const ggufTypeNames = Object.keys(ggufTypes) as GgufTypeName[];

/** Types that files have and that are not read, so that a refusal can name them. */
const others = {
  ...{
    Q8_1: 9,
    Q2_K: 10,
    Q3_K: 11,
    Q8_K: 15,
    IQ2_XXS: 16,
    IQ2_XS: 17,
    IQ3_XXS: 18,
    IQ1_S: 19,
    IQ4_NL: 20,
    IQ3_S: 21,
    IQ2_S: 22,
    IQ4_XS: 23,
  },
  ...{ I8: 24, I16: 25, I32: 26, I64: 27, F64: 28, IQ1_M: 29, TQ1_0: 34, TQ2_0: 35, MXFP4: 39, NVFP4: 40, Q1_0: 41, Q2_0: 42 },
};
const removed: readonly number[] = [4, 5, 31, 32, 33, 36, 37, 38];

function otherType(id: number): string {
  const name = Object.entries(others).find(([, own]) => own === id)?.[0];
  return name ?? (removed.includes(id) ? `a type that ggml has removed (${id})` : `number ${id}`);
}

const namesById: ReadonlyMap<number, GgufTypeName> = new Map(ggufTypeNames.map((name) => [ggufTypes[name].id, name]));

/** The type with a number, if it is read; what a sentence calls it otherwise. */
export const ggufTypeOf = (id: number): { readonly name: GgufTypeName } | { readonly other: string } => {
  const name = namesById.get(id);
  return name ? { name } : { other: otherType(id) };
};

/** The types that are written. */
export const writtenTypes = ["F32", "F16", "Q8_0"] as const satisfies readonly GgufTypeName[];
export type WrittenType = (typeof writtenTypes)[number];

/** Numbers as the bytes of a type; for Q8_0 a multiple of 32 of them. */
export function ggufBytes(numbers: Float32Array, type: WrittenType): Uint8Array {
  if (type === "F32") return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  if (type === "F16") return new Uint8Array(Uint16Array.from(numbers, halfBits).buffer);
  const bytes = new Uint8Array((numbers.length / 32) * 34);
  const view = new DataView(bytes.buffer);
  for (let from = 0, at = 0; from < numbers.length; from += 32, at += 34) writeQ8(numbers.subarray(from, from + 32), view, at);
  return bytes;
}

/** As ggml rounds: in float32, and halves away from zero. */
function writeQ8(part: Float32Array, view: DataView, at: number): void {
  let largest = 0;
  for (const value of part) largest = Math.max(largest, Math.abs(value));
  const scale = Math.fround(largest / 127);
  const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
  view.setUint16(at, halfBits(scale), true);
  for (let i = 0; i < 32; i++) {
    const steps = Math.fround(part[i] * inverse);
    view.setInt8(at + 2 + i, Math.sign(steps) * Math.round(Math.abs(steps)));
  }
}
