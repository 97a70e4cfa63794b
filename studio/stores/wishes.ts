// Trainings that somebody wants to go on, by name: remembered beyond this page, so that a reload, or a tab that crashed, only interrupts them.

const key = "qkv-going";

const read = (): readonly string[] => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
};

export const wished = read;

export function wish(name: string): void {
  localStorage.setItem(key, JSON.stringify([...new Set([...read(), name])]));
}

export function unwish(name: string): void {
  localStorage.setItem(key, JSON.stringify(read().filter((one) => one !== name)));
}
