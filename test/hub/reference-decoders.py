"""Tiny random decoders of every family, and what Python transformers makes of them.

python reference-decoders.py [name ...]   # writes models/<name>/ (as save_pretrained does), reference.json and gradients.safetensors

Every parameter is drawn wide, so that a bias, an epsilon or a scale that is forgotten is seen. The tests need no Python.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers as tf
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

here = pathlib.Path(__file__).parent / "models"
torch.set_num_threads(1)


def letters(start=None):
    """Byte-level letters with a few merges; `start` is put before a text, as Llama's files have it."""
    entries = ["<|end|>", "<|start|>", "<|stop|>", "Ġ", "Ċ", *"abcdefghijklmnopqrstuvwxyz", *"ABCDEFGHT", *".,!?'0123456789"]
    merges = []
    for pair in ["Ġ t", "h e", "Ġt he", "i n", "Ġ a", "o n"]:
        left, right = pair.split()
        merges.append((left, right))
        entries.append(left + right)
    tok = Tokenizer(models.BPE({w: i for i, w in enumerate(entries)}, merges))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens(entries[:3])
    if start:
        tok.post_processor = processors.TemplateProcessing("<|start|> $A", "<|start|> $A <|start|> $B", [("<|start|>", 1)])
    return tok


def widened(model, seed):
    g = torch.Generator().manual_seed(seed)
    one_plus = "gemma" in model.config.model_type
    for name, p in sorted({id(p): (n, p) for n, p in model.named_parameters()}.values()):
        noise = torch.randn(p.shape, generator=g)
        is_norm = "norm" in name.lower() or ".ln_" in name
        scale = is_norm and name.endswith("weight")
        p.data = (0 if one_plus else 1) + 0.2 * noise if scale else (0.25 if p.dim() > 1 else 0.2) * noise
    return model.eval()


def rounded(tensor):
    return [float(f"{x:.7g}") for x in tensor.detach().flatten().tolist()]


text = "the cat and a hat in the"


def decoder(name, cls, config, seed, start=False, dtype=torch.float32, shard=None, chat=False):
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    tok = letters(start)
    config._attn_implementation = "eager"
    config.bos_token_id, config.eos_token_id, config.pad_token_id = 1, 0, None
    model = widened(cls(config), seed)
    # both end a text; kept to what is rarely said, so that there is something to compare
    model.generation_config = tf.GenerationConfig(bos_token_id=1, eos_token_id=[0, 2], pad_token_id=0)
    if dtype != torch.float32:  # the numbers of the file, computed with in 32 bits
        for p in model.parameters():
            p.data = p.data.to(dtype).float()
    ids = tok.encode(text).ids
    assert max(ids) < config.vocab_size and tok.get_vocab_size() < config.vocab_size
    given = torch.tensor([ids])
    out = model(input_ids=given, output_attentions=True, use_cache=False)
    loss = torch.nn.functional.cross_entropy(out.logits[0, :-1], given[0, 1:])
    loss.backward()
    greedy = model.generate(given, attention_mask=torch.ones_like(given), max_new_tokens=10, do_sample=False, suppress_tokens=[61, 62, 63])[0, len(ids):]
    reference = dict(
        text=text,
        ids=ids,
        loss=loss.item(),
        scores=rounded(out.logits[0]),
        attentions=[rounded(a[0]) for a in out.attentions],
        greedy=greedy.tolist(),
    )
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    gradients = {n: p.grad.clone().contiguous() for n, p in model.named_parameters() if "layers.0" not in n and "h.0" not in n}
    model.config.dtype = dtype
    model.to(dtype).save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
    special = dict(bos_token="<|start|>", eos_token="<|end|>")
    saved = tf.PreTrainedTokenizerFast(tokenizer_object=tok, **special)
    if chat:
        saved.chat_template = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    saved.save_pretrained(folder)
    save_file(gradients, folder / "gradients.safetensors")
    (folder / "reference.json").write_text(json.dumps(reference))
    print(name, [round(x, 3) for x in reference["scores"][:3]], reference["greedy"])


small = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, max_position_embeddings=48, vocab_size=64)
grouped = dict(small, num_key_value_heads=2)
llama3 = dict(rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)

decoder("gpt2", tf.GPT2LMHeadModel, tf.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=48, vocab_size=64), 1)
decoder("llama", tf.LlamaForCausalLM, tf.LlamaConfig(**grouped, rms_norm_eps=1e-5), 2, start=True, chat=True)
decoder("llama3", tf.LlamaForCausalLM, tf.LlamaConfig(**grouped, rope_parameters=llama3, attention_bias=True, head_dim=6, tie_word_embeddings=True), 3, dtype=torch.bfloat16, shard="8KB")
decoder("qwen2", tf.Qwen2ForCausalLM, tf.Qwen2Config(**grouped, tie_word_embeddings=True), 4, dtype=torch.float16)
decoder("qwen3", tf.Qwen3ForCausalLM, tf.Qwen3Config(**grouped, head_dim=6), 5)
decoder("mistral", tf.MistralForCausalLM, tf.MistralConfig(**grouped, sliding_window=5, head_dim=4), 6)
decoder("gemma", tf.GemmaForCausalLM, tf.GemmaConfig(**grouped, head_dim=6), 7, start=True)
decoder("gemma2", tf.Gemma2ForCausalLM, tf.Gemma2Config(**dict(grouped, num_hidden_layers=3), head_dim=6, sliding_window=5, query_pre_attn_scalar=9, attn_logit_softcapping=5.0, final_logit_softcapping=3.0), 8)
gemma3_rope = dict(full_attention=dict(rope_type="linear", factor=4.0, rope_theta=100000.0), sliding_attention=dict(rope_type="default", rope_theta=5000.0))
decoder("gemma3", tf.Gemma3ForCausalLM, tf.Gemma3TextConfig(**dict(grouped, num_hidden_layers=3), head_dim=6, sliding_window=5, layer_types=["sliding_attention", "sliding_attention", "full_attention"], query_pre_attn_scalar=9, rope_parameters=gemma3_rope), 9)
decoder("pythia", tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(**dict(small, num_attention_heads=2), rotary_pct=0.5), 10)
decoder("neox", tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(**dict(small, num_attention_heads=2), use_parallel_residual=False), 11)
decoder("phi", tf.PhiForCausalLM, tf.PhiConfig(**dict(small, num_attention_heads=2)), 12)
decoder("phi3", tf.Phi3ForCausalLM, tf.Phi3Config(**grouped, pad_token_id=0), 13)
decoder("opt", tf.OPTForCausalLM, tf.OPTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=24, max_position_embeddings=48, vocab_size=64, word_embed_proj_dim=16), 14)
