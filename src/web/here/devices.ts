import { EngineError } from "../../base/errors.ts";
import type { Device } from "../../runtime/device.ts";
import { type DeviceChoice, type DeviceName, deviceChoices, deviceNames } from "../../runtime/provider.ts";

// What computes in this worker, in the place of the devices of Node (src/node/devices.ts), which the bundle of the worker does not have. It is settled
// once, when the worker begins.

export { type DeviceChoice, type DeviceName, deviceChoices, deviceNames };

/** WebAssembly is the processor of a page. */
export interface Standing {
  readonly cpu: Device;
  readonly webgpu?: Device;
  /** What computes where nothing is said. */
  readonly usual: "cpu" | "webgpu";
}

let standing: Standing | undefined;

export function settle(devices: Standing): void {
  standing = devices;
}

/** What was settled. */
export function settled(): Standing {
  if (!standing) throw new EngineError("this worker has no engine yet");
  return standing;
}

/** Which device "auto" is. */
export const resolved = (name: DeviceChoice): DeviceName => (name === "auto" ? settled().usual : name);

export function deviceNamed(given: DeviceChoice, options: Omit<Device, "engine"> = {}): Device {
  const name = resolved(given);
  const device = name === "cpu" ? settled().cpu : name === "webgpu" ? settled().webgpu : undefined;
  if (device) return { ...device, ...options };
  throw new EngineError(`${name} cannot be used in this page; it computes on ${settled().webgpu ? "wasm or webgpu" : "wasm"}`, {
    code: "engine.device",
  });
}

/** A device, or the one of this name; what was settled if nothing is given. */
export const deviceOf = (given: Device | DeviceChoice = settled().usual, options: Omit<Device, "engine"> = {}): Device =>
  typeof given === "string" ? deviceNamed(given, options) : { ...given, ...options };
