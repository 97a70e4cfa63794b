// The package's own types bring Node's along.
export function parse(text: string, options: object): never;
export class CsvError extends Error {
  readonly code: string;
  readonly [fact: string]: unknown;
}
