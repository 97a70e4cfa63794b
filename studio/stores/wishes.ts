import { keep, kept } from "./kept.ts";

// Trainings that somebody wants to go on, by name: remembered beyond this page, so that a reload, or a tab that crashed, only interrupts them.

const key = "qkv-going";

const read = (): readonly string[] => {
  try {
    const found: unknown = JSON.parse(kept(key) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
};

export const wished = read;

export const wish = (name: string): void => keep(key, JSON.stringify([...new Set([...read(), name])]));

export const unwish = (name: string): void => keep(key, JSON.stringify(read().filter((one) => one !== name)));
