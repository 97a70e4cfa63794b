import type { InputTypes, Outputs, TensorFunction } from "../graph/graph.ts";
import { type CompiledFunction, type CompileOptions, compile as compileOn } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { type DeviceChoice, deviceNamed } from "./devices.ts";
import { nodeEngine } from "./engine.ts";
import { freeMemory } from "./machine.ts";

/** ONNX Runtime in this process, with the memory that the machine has left. */
export const nodeDevice = (options: Omit<Device, "engine"> = {}): Device => ({ engine: nodeEngine, memory: freeMemory, ...options });

export interface NodeCompileOptions extends Omit<CompileOptions, "device"> {
  /** What computes, or its name; the processor if left out. */
  readonly device?: Device | DeviceChoice;
  /** Threads of this process, where no device is given. */
  readonly threads?: number;
}

/** Makes a function runnable, in this process unless another device is given. */
export function compile<I extends InputTypes, O extends Outputs, const Tap extends string = never>(
  fn: TensorFunction<I, O>,
  { threads, device = nodeDevice({ threads }), ...options }: NodeCompileOptions & { readonly taps?: readonly Tap[] } = {},
): CompiledFunction<I, O, Tap> {
  return compileOn(fn, { ...options, device: typeof device === "string" ? deviceNamed(device, { threads }) : device });
}
