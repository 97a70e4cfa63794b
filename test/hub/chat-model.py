"""Makes chat-model/: a tiny random Llama that knows every byte and ChatML, and what Python makes of conversations with it: python chat-model.py"""
import json
from pathlib import Path
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

here = Path(__file__).parent / "chat-model"
specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
merges = [("Ġ", "t"), ("h", "e"), ("i", "n"), ("a", "n"), ("Ġ", "a"), ("Ġt", "he"), ("o", "n"), ("e", "r"), ("Ġ", "i"), ("Ġi", "s"), ("a", "s"), ("Ġ", "L")]
vocab = {token: i for i, token in enumerate([*specials, *alphabet, *["".join(pair) for pair in merges]])}
tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|im_start|>", eos_token="<|im_end|>", pad_token="<|endoftext|>")
fast.chat_template = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe brief.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
fast.save_pretrained(here)
torch.manual_seed(13)
config = LlamaConfig(vocab_size=len(vocab), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                     max_position_embeddings=256, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=0)
model = LlamaForCausalLM(config).eval()
model.save_pretrained(here)

fast = AutoTokenizer.from_pretrained(here)
chats = [
    [{"role": "user", "content": "Capital of Peru?"}],
    [{"role": "user", "content": "Capital of Peru?"}, {"role": "assistant", "content": "It is Lima."}, {"role": "user", "content": " Sûr ? "}, {"role": "assistant", "content": "Yes 🙂"}],
]
answers = []
for messages in chats:
    ids = fast.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
    whole = fast.apply_chat_template(messages, tokenize=True, return_dict=False)
    with torch.no_grad():
        logits = model(torch.tensor([whole])).logits[0].log_softmax(-1)
    # what is learned: every answer with its <|im_end|>
    losses, inside = [], False
    header = fast.encode("<|im_start|>assistant\n", add_special_tokens=False)
    for i in range(len(whole) - 1):
        if whole[: i + 1][-len(header):] == header:
            inside = True
        if inside:
            losses.append(-logits[i, whole[i + 1]].item())
        if whole[i + 1] == 2:
            inside = False
    answers.append({"messages": messages, "asked": list(ids), "ids": list(whole), "learned": len(losses), "loss": sum(losses) / max(1, len(losses))})
(here / "reference.json").write_text(json.dumps(answers, ensure_ascii=False, indent=1))
