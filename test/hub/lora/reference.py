"""Makes the numbers of test/hub/lora.test.ts with Python's transformers and peft: a tiny random Llama, the losses of five steps of full
fine-tuning and of LoRA, the adapter before and after, and what the model says with it.

    python test/hub/lora/reference.py
"""

import json
import pathlib

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

here = pathlib.Path(__file__).parent
steps, batch, time, vocab = 5, 3, 12, 48
rate, alpha, rank = 5e-3, 8, 4

torch.manual_seed(1)
torch.set_num_threads(1)
config = LlamaConfig(
    vocab_size=vocab,
    hidden_size=24,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    max_position_embeddings=32,
    tie_word_embeddings=True,
    initializer_range=0.2,
)
LlamaForCausalLM(config).save_pretrained(here / "llama")
ids = torch.randint(0, vocab, (steps, batch, time + 1))


def model():
    return LlamaForCausalLM.from_pretrained(here / "llama", dtype=torch.float32, attn_implementation="eager")


def loss_of(net, rows):
    scores = net(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(scores.reshape(-1, vocab), rows[:, 1:].reshape(-1))


def train(net, decay):
    parameters = [p for p in net.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for rows in ids:
        optimizer.zero_grad()
        loss = loss_of(net, rows)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


full = model()
full_losses = train(full, 0.1)

targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
adapted = get_peft_model(
    model(), LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules=targets, task_type="CAUSAL_LM")
)
adapted.save_pretrained(here / "start")
lora_losses = train(adapted, 0.0)
adapted.save_pretrained(here / "trained")

other = get_peft_model(
    model(), LoraConfig(r=2, lora_alpha=6, use_rslora=True, target_modules=["q_proj", "v_proj"], rank_pattern={"v_proj": 3}, alpha_pattern={"v_proj": 5})
)
for name, p in other.named_parameters():
    if "lora_B" in name:
        torch.nn.init.normal_(p, std=0.3)
other.save_pretrained(here / "patterns")
for folder in ("start", "trained", "patterns"):
    (here / folder / "README.md").unlink(missing_ok=True)
    file = here / folder / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "base_model_name_or_path": "llama"}, indent=2, sort_keys=True) + "\n")

prompt = ids[0, :1, :8]
with torch.no_grad():
    said = {name: net(prompt).logits[0].tolist() for name, net in {"base": model(), "trained": adapted, "patterns": other}.items()}
reference = {
    "ids": ids.tolist(),
    "rate": rate,
    "decay": 0.1,
    "full": full_losses,
    "lora": lora_losses,
    "prompt": prompt[0].tolist(),
    "logits": {name: [[round(x, 6) for x in row] for row in rows] for name, rows in said.items()},
}
(here / "reference.json").write_text(json.dumps(reference) + "\n")
print(full_losses, lora_losses, sorted(load_file(here / "trained" / "adapter_model.safetensors"))[:4])
