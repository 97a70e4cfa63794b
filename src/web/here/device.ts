import type { Device } from "../../runtime/device.ts";
import { deviceOf } from "./devices.ts";

/** In the place of src/node/device.ts. */
export const nodeDevice = (options: Omit<Device, "engine"> = {}): Device => deviceOf("cpu", options);
