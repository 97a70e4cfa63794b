import { mkdirSync, readdirSync, readFileSync, rmSync, type Stats, statSync, writeFileSync } from "./fs.ts";

// What Node calls "node:fs/promises". Nothing waits for anything here; failures come as those of promises.

type Encoding = "utf8" | "utf-8";

export async function readFile(path: string, options: Encoding | { readonly encoding: Encoding }): Promise<string>;
export async function readFile(path: string): Promise<Uint8Array>;
export async function readFile(path: string, options?: Encoding | { readonly encoding: Encoding }): Promise<string | Uint8Array> {
  return options === undefined ? readFileSync(path) : readFileSync(path, options);
}

export const readdir = async (path: string): Promise<string[]> => readdirSync(path);
export const stat = async (path: string): Promise<Stats> => statSync(path);
export const writeFile = async (path: string, content: string | Uint8Array): Promise<void> => writeFileSync(path, content);
export const mkdir = async (path: string, options: { readonly recursive: true }): Promise<string | undefined> => mkdirSync(path, options);
export const rm = async (path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void> =>
  rmSync(path, options);
