import type { JsonObject } from "./family.ts";

// JavaScript writes 30.0 as 30, and Python's transformers refuses a whole number where it wants another. So the names of such settings are kept.

/** `"name": 30.0` or `"name": 1e6`: whole, and written otherwise. */
const wholeFloat = /"([^"\\\n]{1,100})"\s*:\s*-?\d+(?:\.0+(?:[eE][+-]?\d+)?|(?:\.\d+)?[eE]\+?\d+)(?=\s*[,}\r\n])/g;

/** The settings of a JSON text that have whole numbers of Python's other kind. */
export const floatKeys = (text: string): string[] => [...new Set(Array.from(text.matchAll(wholeFloat), ([, name]) => name))];

/** Of a config that was not read from a text. */
const usualFloats: readonly string[] = [
  ...["rope_theta", "factor", "low_freq_factor", "high_freq_factor", "partial_rotary_factor", "rotary_pct", "rotary_emb_base"],
  ...["attn_logit_softcapping", "final_logit_softcapping", "rope_local_base_freq", "attention_dropout"],
];

/** An object as a JSON text that Python reads with the same kinds of numbers. */
export function pythonJson(value: JsonObject, floats: readonly string[] = usualFloats): string {
  const names = new Set(floats);
  const text = JSON.stringify(value, null, 2);
  const whole = /^(\s*"([^"\\]+)": -?\d+)(?=,?$)/gm;
  return `${text.replace(whole, (line, start: string, name: string) => (names.has(name) ? `${start}.0` : line))}\n`;
}
