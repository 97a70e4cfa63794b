# Numbers for test/parity/cross.test.ts, by PyTorch's own complex numbers, which turn by multiplying (Debian's python3-torch does):
#   python3 test/parity/cross.py > test/parity/cross.json
import json

import torch

torch.manual_seed(1)


def rounded(x):
    return [float(f"{v:.8g}") for v in x.detach().double().flatten().tolist()]


batch, query, key, width, heads, size, base = 2, 4, 6, 8, 2, 4, 100.0
x, source = torch.randn(batch, query, width), torch.randn(batch, key, width)
weights = {name: torch.randn(heads * size, width) * 0.5 for name in ("q", "k", "v")}
weights["out"] = torch.randn(width, heads * size) * 0.5


def split(y):
    return y.view(batch, -1, heads, size).transpose(1, 2)


def turned(y):
    """Pair i of a head is (i, i + size/2), as in Llama; a complex number each."""
    pairs = torch.complex(y[..., : size // 2], y[..., size // 2 :])
    frequencies = base ** (-torch.arange(size // 2).float() / (size // 2))
    angles = torch.arange(y.shape[2]).float()[:, None] * frequencies
    z = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([z.real, z.imag], dim=-1)


q = turned(split(x @ weights["q"].T))
k = turned(split(source @ weights["k"].T))
v = split(source @ weights["v"].T)
pattern = torch.softmax(q @ k.transpose(-1, -2) / size**0.5, dim=-1)
y = (pattern @ v).transpose(1, 2).reshape(batch, query, heads * size) @ weights["out"].T

print(
    json.dumps(
        {
            "config": {"heads": heads, "ropeBase": base},
            "shape": [batch, query, width],
            "sourceShape": [batch, key, width],
            "x": rounded(x),
            "source": rounded(source),
            "weights": {f"{name}/weight": rounded(weight) for name, weight in weights.items()},
            "pattern": rounded(pattern),
            "y": rounded(y),
        }
    )
)
