import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, EngineError } from "../base/errors.ts";
import { benchDecode, type DecodeBench, decodeOnce, randomWeights } from "../bench/decode.ts";
import { writeSynced } from "../disk/files.ts";
import { weightsInFile } from "../disk/safetensors-file.ts";
import { type DecoderConfig, decoderConfig } from "../models/config.ts";
import { decoderLoss } from "../models/decoder.ts";
import { decoderPresets } from "../models/presets.ts";
import { parametersOf } from "../runtime/compile.ts";
import { parametersAsTensors } from "../weights/load.ts";
import { safetensorsParts } from "../weights/safetensors.ts";

/** Tells a process that it is to decode with the weights in this file, and to say how much memory that took. */
const memoryOf = "QKV_MEMORY_OF";

export interface DecodeReport extends DecodeBench {
  /** Of a process that does nothing but generate with 32-bit weights. */
  readonly peakMemoryBytes: number;
}

/** Random weights of a preset's size are written to a file first: the engine reads them from there, as it does for a run. */
export async function decodeReport(preset: string, threads: number): Promise<DecodeReport | undefined> {
  const config = configOf(preset);
  const given = process.env[memoryOf];
  if (given !== undefined) return printMemory(config, given, threads);
  const folder = mkdtempSync(join(tmpdir(), "qkv-bench-"));
  try {
    const file = join(folder, "model.safetensors");
    writeSynced(file, safetensorsParts(parametersAsTensors(randomWeights(config))));
    const peakMemoryBytes = memoryOfChild(preset, file, threads);
    const result = await benchDecode(config, weightsInFile(file, parametersOf(decoderLoss(config))), threads);
    return { ...result, peakMemoryBytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function configOf(preset: string): DecoderConfig {
  if (!Object.hasOwn(decoderPresets, preset))
    throw new ConfigError(`decoding is measured for a decoder, by its preset: ${Object.keys(decoderPresets).join(", ")}`);
  return decoderConfig(decoderPresets[preset]);
}

async function printMemory(config: DecoderConfig, file: string, threads: number): Promise<undefined> {
  await decodeOnce(config, weightsInFile(file, parametersOf(decoderLoss(config))), threads);
  console.log(process.resourceUsage().maxRSS * 1024);
}

function memoryOfChild(preset: string, file: string, threads: number): number {
  const args = [...process.execArgv, process.argv[1], "bench", "decode", "--preset", preset, "--threads", `${threads}`];
  const { stdout, stderr } = spawnSync(process.execPath, args, { env: { ...process.env, [memoryOf]: file }, encoding: "utf8" });
  const bytes = Number(stdout.trim());
  if (!(bytes > 0)) throw new EngineError(`a process of its own could not generate: ${stderr.trim()}`);
  return bytes;
}

export function decodeText({ floor, single, prefill, batch8, q8, q4, ...rest }: DecodeReport, threads: number): string {
  const speed = (name: string, { tokensPerSecond }: { tokensPerSecond: number }, beside: string) =>
    `${name.padEnd(24)}${tokensPerSecond.toFixed(1).padStart(9)} tokens/s   ${beside}`;
  return [
    `${rest.parameters.toLocaleString("en")} random parameters, ${threads} threads, best of many`,
    `${"floor".padEnd(24)}${floor.msPerToken.toFixed(2).padStart(9)} ms a token: only the products with the same weights`,
    ...Object.entries(single).map(([name, one]) =>
      speed(name.replace("context", "one stream, context "), one, `${one.fraction.toFixed(3)} of the floor's speed`),
    ),
    speed(`prompt of ${prefill.promptTokens}`, prefill, "read in one run"),
    speed("8 streams", batch8, `${batch8.speedup.toFixed(2)} × one stream`),
    speed("8-bit weights", q8, `${q8.speedup.toFixed(2)} × 32-bit`),
    speed("4-bit weights", q4, `${q4.speedup.toFixed(2)} × 32-bit`),
    `peak memory ${(rest.peakMemoryBytes / 1e6).toFixed(0)} MB for ${(rest.weightBytes / 1e6).toFixed(0)} MB of weights`,
  ].join("\n");
}
