import { array, elementCount, emptyArray, type HostArray } from "../base/arrays.ts";
import { type Chance, chance } from "../base/chance.ts";
import { Dim } from "./dim.ts";
import type { Domain, Example, ExampleInput } from "./op.ts";
import type { TensorType } from "./type.ts";

export type Sizes = Record<string, number>;

/** The symbols that an example leaves open. */
export function symbolsOf(example: Example<never>): string[] {
  return [...new Set(example.inputs.flatMap(({ type }) => type.shape.flatMap((dim) => dim.symbols)))].sort();
}

/** Ordinary sizes, all ones, and each symbol empty in turn. */
export function sizeVariants(example: Example<never>): { name: string; sizes: Sizes }[] {
  const symbols = symbolsOf(example);
  const ordinary = Object.fromEntries(symbols.map((symbol, i) => [symbol, 2 + (i % 4)]));
  const variants = [{ name: "ordinary sizes", sizes: ordinary }];
  if (symbols.length > 0) variants.push({ name: "sizes of 1", sizes: Object.fromEntries(symbols.map((symbol) => [symbol, 1])) });
  for (const symbol of symbols) {
    if (!example.nonEmpty?.includes(symbol)) variants.push({ name: `${symbol} = 0`, sizes: { ...ordinary, [symbol]: 0 } });
  }
  return variants;
}

export const concrete = (type: TensorType, sizes: Sizes): number[] => type.shape.map((dim) => dim.bind(sizes).known);

export function sampleInput({ type, domain }: ExampleInput, sizes: Sizes, source: Chance): HostArray {
  const shape = concrete(type, sizes);
  const data = emptyArray(type.dtype, elementCount(shape));
  for (let i = 0; i < data.length; i++) data[i] = draw(domain, source, i, data.length, sizes);
  return { dtype: type.dtype, shape, data };
}

function draw(domain: Domain, source: Chance, place: number, count: number, sizes: Sizes): number {
  if (typeof domain === "object") return source.integer(place, Dim.of(domain.below).bind(sizes).known);
  if (domain === "real") return source.normal(place);
  if (domain === "positive") return 0.5 + 1.5 * source.uniform(place);
  if (domain === "boolean") return source.integer(place, 2);
  if (domain === "byte") return source.integer(place, 256);
  return (((place * 7919) % Math.max(count, 1)) + 0.5 - count / 2 + 0.4 * (source.uniform(place) - 0.5)) / 2 + 0.05; // apart
}

export const samples = (example: Example<never>, sizes: Sizes, seed = 1): HostArray[] =>
  example.inputs.map((input, i) => sampleInput(input, sizes, chance(seed).fork(i)));

export const random = (shape: number[], seed: number, dtype: "float32" | "float64" = "float32"): HostArray => {
  const source = chance(seed).fork("random");
  return array(
    dtype,
    Array.from({ length: elementCount(shape) }, (_, i) => source.normal(i)),
    shape,
  );
};

/** An example with its symbols bound, in types and attributes. */
export function bound(example: Example<never>, sizes: Sizes): Example<never> {
  const bind = (value: unknown): unknown => {
    if (value instanceof Dim) return value.bind(sizes);
    if (Array.isArray(value)) return value.map(bind);
    return value;
  };
  const attributes = Object.fromEntries(Object.entries(example.attributes as object).map(([key, value]) => [key, bind(value)]));
  const inputs = example.inputs.map(({ type, domain }) => ({ type: { ...type, shape: type.shape.map((dim) => dim.bind(sizes)) }, domain }));
  return { ...example, inputs, attributes: attributes as never };
}
