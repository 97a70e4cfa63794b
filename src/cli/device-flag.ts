import { Option } from "commander";
import { type DeviceChoice, type DeviceName, deviceChoices, resolved } from "../node/devices.ts";

/** Which device computes; "auto" is settled when it is read, so that whoever works with it knows which it is. */
export function deviceFlag(): Option {
  const flag = new Option("--device <name>", "what computes: cpu, or a device that qkv info --devices lists; auto for the fastest").choices(
    deviceChoices,
  );
  const known = flag.parseArg as (text: string, before: unknown) => DeviceChoice;
  return flag.argParser((text, before): DeviceName => resolved(known(text, before)));
}
