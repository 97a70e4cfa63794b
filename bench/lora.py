"""The steps of bench/lora.mjs with PyTorch and PEFT: python bench/lora.py <folder> <work> [rank, 0 for all]"""

import json
import resource
import sys
import time

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

folder, work, rank = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 8
torch.set_num_threads(2)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
if rank > 0:
    model = PeftModel.from_pretrained(model, f"{work}/start", is_trainable=True)
model.train()
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-3 if rank > 0 else 1e-5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
losses, seconds = [], []
for row in json.load(open(f"{work}/ids.json")):
    begin = time.perf_counter()
    ids = torch.tensor([row])
    optimizer.zero_grad()
    scores = model(ids[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(scores[0], ids[0, 1:])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    seconds.append(time.perf_counter() - begin)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"losses": losses, "best": min(seconds[1:]), "peakGiB": peak}))
