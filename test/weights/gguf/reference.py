# Makes blocks.json: blocks of every type that is read, with their values by the package `gguf`, and Q8_0 blocks as it rounds them.
# python -m pip install gguf numpy; python test/weights/gguf/reference.py
import base64, json, os
import numpy as np
import gguf
from gguf.quants import dequantize, quantize

random = np.random.default_rng(7)
base = lambda array: base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
result = {"read": {}, "write": {}}
halves = lambda: random.normal(0, 0.02, 2).astype(np.float16)

for name in ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]:
    kind = gguf.GGMLQuantizationType[name]
    block, size = gguf.GGML_QUANT_SIZES[kind]
    count = 64 if block == 1 else 3
    if block == 1:
        raw = random.normal(0, 1, count).astype(np.float32)
        raw = raw if name == "F32" else raw.astype(np.float16) if name == "F16" else quantize(raw, kind)
        raw = raw.view(np.uint8).reshape(-1)
    else:
        # Any bits are numbers; only the scales, halves at a known place, are kept ordinary.
        raw = random.integers(0, 256, (count, size), dtype=np.uint8)
        for row in raw:
            if name == "Q6_K": row[208:210] = halves()[:1].view(np.uint8)
            elif name in ("Q4_0", "Q5_0", "Q8_0"): row[0:2] = halves()[:1].view(np.uint8)
            else: row[0:4] = halves().view(np.uint8)
        raw = raw.reshape(-1)
    if name == "F32": values = raw.view(np.float32)
    elif name == "F16": values = raw.view(np.float16).astype(np.float32)
    else: values = dequantize(raw, kind).astype(np.float32)
    result["read"][name] = {"bytes": base(raw), "values": base(values)}

numbers = np.concatenate([random.normal(0, 0.05, 96), np.zeros(32), random.normal(0, 1e-7, 32), np.linspace(-127, 127, 32)]).astype(np.float32)
for name in ["F16", "Q8_0"]:
    result["write"][name] = {"values": base(numbers), "bytes": base(quantize(numbers, gguf.GGMLQuantizationType[name]))}

with open(os.path.join(os.path.dirname(__file__), "blocks.json"), "w") as file:
    json.dump(result, file, indent=1)
