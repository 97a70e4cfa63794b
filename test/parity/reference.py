# Reference values from PyTorch (made with 1.13; any later version gives the same to rounding), written to reference.json:
#   python3 test/parity/reference.py
# Each case has named arrays: parameters, inputs, outputs, and gradients of sum(output * probe).
import json, math, os
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # values are exact to float32; the test runs in float32
cases = {}

def rounded(t):
    return {"shape": list(t.shape), "data": [float(f"{v:.9g}") for v in t.detach().reshape(-1).tolist()]}

def case(name, outputs, params=None, inputs=None, ids=None):
    """outputs: dict of tensors; gradients of sum(out * probe) for every parameter and float input."""
    params, inputs, ids = params or {}, inputs or {}, ids or {}
    probes = {k: torch.randn_like(v) for k, v in outputs.items()}
    loss = sum((outputs[k] * probes[k]).sum() for k in outputs)
    wanted = {**params, **inputs}
    grads = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
    cases[name] = {
        "params": {k: rounded(v) for k, v in params.items()},
        "inputs": {k: rounded(v) for k, v in inputs.items()},
        "ids": {k: {"shape": list(v.shape), "data": v.reshape(-1).tolist()} for k, v in ids.items()},
        "outputs": {k: rounded(v) for k, v in outputs.items()},
        "probes": {k: rounded(v) for k, v in probes.items()},
        "gradients": {k: rounded(torch.zeros_like(v) if g is None else g) for (k, v), g in zip(wanted.items(), grads)},
    }

def leaf(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).requires_grad_()

B, T, S, W, H, FF, V = 2, 5, 4, 8, 2, 12, 7
lengths = torch.tensor([5, 3]); source_lengths = torch.tensor([4, 2])
pad = torch.arange(T)[None, :] >= lengths[:, None]
source_pad = torch.arange(S)[None, :] >= source_lengths[:, None]
causal = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)

def norm_params(m, prefix):
    return {f"{prefix}/scale": m.weight, f"{prefix}/bias": m.bias}

def mha_params(m, prefix, cross=False):
    if not cross:
        return {f"{prefix}/qkv/weight": m.in_proj_weight, f"{prefix}/qkv/bias": m.in_proj_bias, f"{prefix}/out/weight": m.out_proj.weight, f"{prefix}/out/bias": m.out_proj.bias}
    out = {f"{prefix}/out/weight": m.out_proj.weight, f"{prefix}/out/bias": m.out_proj.bias}
    for i, n in enumerate("qkv"):
        out[f"{prefix}/{n}/weight"] = m.in_proj_weight[i * W:(i + 1) * W]
        out[f"{prefix}/{n}/bias"] = m.in_proj_bias[i * W:(i + 1) * W]
    return out

def randomise(module):
    for p in module.parameters():
        nn.init.normal_(p, 0.3 if p.dim() > 1 else 0.1, 0.4)

def split_cross(m):
    """PyTorch keeps the three projections in one tensor; take leaves apart and put them back, so that each has a gradient."""
    parts = {n: (m.in_proj_weight[i * W:(i + 1) * W].detach().clone().requires_grad_(), m.in_proj_bias[i * W:(i + 1) * W].detach().clone().requires_grad_()) for i, n in enumerate("qkv")}
    del m.in_proj_weight, m.in_proj_bias
    m.in_proj_weight = torch.cat([parts[n][0] for n in "qkv"]); m.in_proj_bias = torch.cat([parts[n][1] for n in "qkv"])
    return parts

# attention with causal and padding masks
for name, masks in {"attention-causal": (causal, None), "attention-padding": (None, pad), "attention-both": (causal, pad)}.items():
    m = nn.MultiheadAttention(W, H, batch_first=True); randomise(m)
    x = leaf(B, T, W)
    y, _ = m(x, x, x, attn_mask=masks[0], key_padding_mask=masks[1], need_weights=False)
    case(name, {"y": y}, mha_params(m, "attention"), {"x": x}, {"lengths": lengths})

# encoder layer, post- and pre-norm; decoder layer with cross-attention
for place in ("post", "pre"):
    m = nn.TransformerEncoderLayer(W, H, FF, 0.0, "relu", batch_first=True, norm_first=place == "pre"); m.train(); randomise(m)
    x = leaf(B, T, W)
    y = m(x, src_key_padding_mask=pad)
    params = {**mha_params(m.self_attn, "block/attention"), "block/feedforward/expand/weight": m.linear1.weight, "block/feedforward/expand/bias": m.linear1.bias,
              "block/feedforward/contract/weight": m.linear2.weight, "block/feedforward/contract/bias": m.linear2.bias, **norm_params(m.norm1, "block/norm1"), **norm_params(m.norm2, "block/norm2")}
    case(f"encoder-layer-{place}", {"y": y}, params, {"x": x}, {"lengths": lengths})

m = nn.TransformerDecoderLayer(W, H, FF, 0.0, "gelu", batch_first=True); m.train(); randomise(m)
x, memory = leaf(B, T, W), leaf(B, S, W)
parts = split_cross(m.multihead_attn)
y = m(x, memory, tgt_mask=causal, memory_key_padding_mask=source_pad)
params = {**mha_params(m.self_attn, "block/attention"), "block/cross/out/weight": m.multihead_attn.out_proj.weight, "block/cross/out/bias": m.multihead_attn.out_proj.bias,
          "block/feedforward/expand/weight": m.linear1.weight, "block/feedforward/expand/bias": m.linear1.bias, "block/feedforward/contract/weight": m.linear2.weight, "block/feedforward/contract/bias": m.linear2.bias,
          **norm_params(m.norm1, "block/norm1"), **norm_params(m.norm2, "block/normcross"), **norm_params(m.norm3, "block/norm2")}
for n in "qkv":
    params[f"block/cross/{n}/weight"], params[f"block/cross/{n}/bias"] = parts[n]
case("decoder-layer", {"y": y}, params, {"x": x, "memory": memory}, {"lengths": source_lengths})

# small parts
x = leaf(3, W); m = nn.LayerNorm(W); randomise(m)
case("layer-norm", {"y": m(x)}, norm_params(m, "norm"), {"x": x})
x = leaf(4, 6, scale=2.0)
case("gelu", {"y": F.gelu(x)}, inputs={"x": x})
case("gelu-tanh", {"y": F.gelu(x, approximate="tanh")}, inputs={"x": x})
table = leaf(V, 3); ids = torch.tensor([[1, 4, 1], [0, 6, 1]])
case("embedding", {"y": F.embedding(ids, table)}, {"table": table}, ids={"ids": ids})
scores = leaf(4, V); targets = torch.tensor([2, -1, 0, 6])
case("cross-entropy", {"loss": F.cross_entropy(scores, targets, ignore_index=-1)}, inputs={"scores": scores}, ids={"targets": targets})
case("cross-entropy-smoothed", {"loss": F.cross_entropy(scores, targets, ignore_index=-1, label_smoothing=0.1)}, inputs={"scores": scores}, ids={"targets": targets})

# recurrent layers
def rnn_params(m, prefix, suffix="_l0"):
    return {f"{prefix}/input/weight": getattr(m, "weight_ih" + suffix), f"{prefix}/input/bias": getattr(m, "bias_ih" + suffix),
            f"{prefix}/state/weight": getattr(m, "weight_hh" + suffix), f"{prefix}/state/bias": getattr(m, "bias_hh" + suffix)}
for cell, kind in {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}.items():
    m = kind(3, 4, batch_first=True); randomise(m)
    x = leaf(B, T, 3)
    y, last = m(x)
    outputs = {"y": y, "h": (last[0] if cell == "lstm" else last)[0]}
    if cell == "lstm": outputs["c"] = last[1][0]
    case(f"{cell}-layer", outputs, rnn_params(m, "cell"), {"x": x})
m = nn.GRU(3, 4, batch_first=True, bidirectional=True); randomise(m)
x = leaf(B, T, 3)
y, _ = m(x)
case("gru-bidirectional", {"y": y}, {**rnn_params(m, "forward"), **rnn_params(m, "backward", "_l0_reverse")}, {"x": x})

# whole models
def lin(shape, scale=0.4): return leaf(*shape, scale=scale)

class Blocks:
    """Plain functions with named parameters, as the papers write them."""
    def __init__(self): self.p = {}
    def get(self, name, *shape):
        if name not in self.p: self.p[name] = leaf(*shape, scale=0.3)
        return self.p[name]
    def dense(self, name, x, out, bias=True):
        y = x @ self.get(name + "/weight", out, x.shape[-1]).T
        return y + self.get(name + "/bias", out) if bias else y
    def norm(self, name, x): return F.layer_norm(x, (x.shape[-1],), self.get(name + "/scale", x.shape[-1]), self.get(name + "/bias", x.shape[-1]))
    def heads(self, x): return x.reshape(x.shape[0], x.shape[1], H, W // H).transpose(1, 2)
    def attention(self, name, x, source=None, mask=None):
        if source is None: q, k, v = self.dense(name + "/qkv", x, 3 * W).chunk(3, -1)
        else: q, k, v = self.dense(name + "/q", x, W), self.dense(name + "/k", source, W), self.dense(name + "/v", source, W)
        s = self.heads(q) @ self.heads(k).transpose(-1, -2) / math.sqrt(W // H)
        if mask is not None: s = s.masked_fill(mask, -1e30)
        y = (s.softmax(-1) @ self.heads(v)).transpose(1, 2).reshape(x.shape[0], x.shape[1], W)
        return self.dense(name + "/out", y, W)
    def block(self, name, x, mask, memory=None, memory_mask=None, act=F.gelu):
        x = x + self.attention(name + "/attention", self.norm(name + "/norm1", x), mask=mask)
        if memory is not None: x = x + self.attention(name + "/cross", self.norm(name + "/normcross", x), memory, memory_mask)
        h = act(self.dense(name + "/feedforward/expand", self.norm(name + "/norm2", x), 4 * W))
        return x + self.dense(name + "/feedforward/contract", h, W)
    def embed(self, prefix, table, ids): return F.embedding(ids, table) + self.get(prefix + "positions/table", 8, W)[: ids.shape[1]]
    def stack(self, prefix, x, mask, **kw):
        for i in range(2): x = self.block(f"{prefix}block.{i}", x, mask, **kw)
        return self.norm(prefix + "norm", x)

ids = torch.tensor([[1, 4, 2, 6, 0], [3, 3, 5, 1, 2]]); targets = torch.tensor([[4, 2, 6, 0, 1], [3, 5, 1, 2, 6]])
m = Blocks(); table = m.get("decoder/tokens", V, W)
scores = m.stack("decoder/", m.embed("decoder/", table, ids), causal) @ table.T
case("model-decoder", {"scores": scores, "loss": F.cross_entropy(scores.reshape(-1, V), targets.reshape(-1))}, m.p, ids={"ids": ids, "targets": targets})

labels = torch.tensor([2, 0])
m = Blocks(); table = m.get("encoder/tokens", V, W)
states = m.stack("encoder/", m.embed("encoder/", table, ids), pad[:, None, None, :])
pooled = (states * ~pad[..., None]).sum(1) / lengths[:, None]
scores = m.dense("encoder/labels", pooled, 3)
case("model-encoder", {"scores": scores, "loss": F.cross_entropy(scores, labels)}, m.p, ids={"ids": ids, "lengths": lengths, "targets": labels})

source = torch.tensor([[1, 4, 2, 6], [3, 5, 0, 0]]); padded = targets.clone(); padded[1, 3:] = -1
m = Blocks(); table = m.get("model/tokens", V, W)
memory = m.stack("model/encoder/", m.embed("model/encoder/", table, source), source_pad[:, None, None, :])
states = m.stack("model/decoder/", m.embed("model/decoder/", table, ids), causal, memory=memory, memory_mask=source_pad[:, None, None, :])
scores = states @ table.T
case("model-encoder-decoder", {"scores": scores, "loss": F.cross_entropy(scores.reshape(-1, V), padded.reshape(-1), ignore_index=-1, label_smoothing=0.1)},
     m.p, ids={"source": source, "lengths": source_lengths, "target": ids, "targets": padded})

with open(os.path.join(os.path.dirname(__file__), "reference.json"), "w") as f:
    json.dump({"torch": torch.__version__, "cases": cases}, f, separators=(",", ":"))
print({k: len(v["params"]) for k, v in cases.items()})
