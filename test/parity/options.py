# Numbers for test/parity/options.test.ts, from the functions of Hugging Face transformers that published models run:
#   python test/parity/options.py > test/parity/options.json
import json

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm
from transformers.models.t5.modeling_t5 import T5Attention

torch.manual_seed(1)


def rounded(x):
    return [float(f"{v:.8g}") for v in x.detach().double().flatten().tolist()]


def frequencies(kind, size, base, **more):
    rope = {"rope_type": kind, "rope_theta": base, **more}
    config = LlamaConfig(hidden_size=2 * size, num_attention_heads=2, head_dim=size, max_position_embeddings=64, rope_parameters=rope)
    if kind == "default":
        return rounded(LlamaRotaryEmbedding(config).inv_freq)
    return rounded(ROPE_INIT_FUNCTIONS[kind](config, None)[0])


llama3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)
short = dict(factor=3.0, low_freq_factor=2.0, high_freq_factor=5.0, original_max_position_embeddings=100)
rope = [
    {"settings": {"ropeBase": 10000}, "half": 8, "frequencies": frequencies("default", 16, 10000.0)},
    {"settings": {"ropeBase": 1e6, "ropeScaling": "linear", "ropeFactor": 4}, "half": 8, "frequencies": frequencies("linear", 16, 1e6, factor=4.0)},
    {"settings": {"ropeBase": 500000, "ropeScaling": "llama3"}, "half": 32, "frequencies": frequencies("llama3", 64, 5e5, **llama3)},
    {
        "settings": {"ropeScaling": "llama3", "ropeFactor": 3, "ropeLowFactor": 2, "ropeHighFactor": 5, "ropeOriginal": 100},
        "half": 16,
        "frequencies": frequencies("llama3", 32, 10000.0, **short),
    },
]


# One attention with everything: grouped queries, norms of heads, a share of rotary, a scale, a cap, a window.
class Module(torch.nn.Module):
    num_key_value_groups = 2


batch, time, width, heads, kv, size, turned, window, cap, scale, base = 2, 7, 12, 4, 2, 6, 4, 3, 1.5, 0.8, 300.0
x = torch.randn(batch, time, width)
qkv = torch.randn((heads + 2 * kv) * size, width) * 0.5
out = torch.randn(width, heads * size) * 0.5
norms = {}
for name in ("q", "k"):
    norms[name] = Qwen3RMSNorm(size, eps=1e-3)
    norms[name].weight.data = torch.randn(size)
q, k, v = (x @ qkv.T).split([heads * size, kv * size, kv * size], dim=-1)
q = norms["q"](q.view(batch, time, heads, size)).transpose(1, 2)
k = norms["k"](k.view(batch, time, kv, size)).transpose(1, 2)
v = v.view(batch, time, kv, size).transpose(1, 2)
inverse = 1.0 / (base ** (torch.arange(0, turned, 2).float() / turned))
angles = torch.arange(time).float()[:, None] * inverse[None]
angles = torch.cat([angles, angles], dim=-1)[None]
front = apply_rotary_pos_emb(q[..., :turned], k[..., :turned], angles.cos(), angles.sin())
q = torch.cat([front[0], q[..., turned:]], dim=-1)
k = torch.cat([front[1], k[..., turned:]], dim=-1)
at = torch.arange(time)
seen = (at[None] <= at[:, None]) & (at[:, None] - at[None] < window)
mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)[None, None]
mixed, pattern = eager_attention_forward(Module(), q, k, v, mask, dropout=0.0, scaling=scale, softcap=cap)
y = mixed.reshape(batch, time, heads * size) @ out.T

distances = torch.arange(-300, 301)
buckets = [
    {
        "buckets": count,
        "farthest": farthest,
        "causal": causal,
        "found": T5Attention._relative_position_bucket(distances, bidirectional=not causal, num_buckets=count, max_distance=farthest).tolist(),
    }
    for count, farthest in ((32, 128), (8, 20))
    for causal in (True, False)
]

print(
    json.dumps(
        {
            "rope": rope,
            "attention": {
                "config": {"heads": heads, "kvHeads": kv, "keySize": size, "valueSize": size, "ropeShare": turned / size, "ropeBase": base, "window": window, "scoreCap": cap, "scale": scale, "epsilon": 1e-3},
                "shape": [batch, time, width],
                "x": rounded(x),
                "weights": {"qkv/weight": rounded(qkv), "out/weight": rounded(out), "q-norm/scale": rounded(norms["q"].weight), "k-norm/scale": rounded(norms["k"].weight)},
                "pattern": rounded(pattern),
                "y": rounded(y),
            },
            "buckets": {"from": -300, "found": buckets},
        }
    )
)
