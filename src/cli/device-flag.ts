import { Option } from "commander";
import { type DeviceChoice, type DeviceName, deviceChoices, resolved } from "../node/devices.ts";
import { whatIs } from "../training/options.ts";

/** Which device computes; "auto" is settled when it is read, so that whoever works with it knows which it is. */
export function deviceFlag(): Option {
  const flag = new Option("--device <name>", `${whatIs("device")} (qkv info --devices lists them)`).choices(deviceChoices);
  const known = flag.parseArg as (text: string, before: unknown) => DeviceChoice;
  return flag.argParser((text, before): DeviceName => resolved(known(text, before)));
}
