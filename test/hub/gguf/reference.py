# Makes tiny random models as GGUF files, with the names and turns of the package `gguf` and of llama.cpp's converter, and what Python's
# transformers computes with the same numbers. Run from this folder: python reference.py (torch, transformers, gguf, sentencepiece).
import json, math, os, tempfile
import numpy as np, torch, gguf, transformers as T
from gguf.quants import quantize, dequantize
import sentencepiece

here = os.path.dirname(os.path.abspath(__file__))
Q = gguf.GGMLQuantizationType
text = "the cat sat on the mat and the dog ran after the cat in 1984; it's not that we don't know, is it?\n" * 3
prompts = ["the cat sat", "It's 1984:\n\n  don't — naïve 猫!", ""]


def byte_level():
    """A byte-level vocabulary with a few merges."""
    from tokenizers import Tokenizer, models, trainers, pre_tokenizers, decoders
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=280, special_tokens=["<|endoftext|>", "<|im_end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    return json.loads(tokenizer.to_str())


def pieces():
    """A SentencePiece BPE vocabulary with bytes for the rest."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/text", "w") as file: file.write(text)
        sentencepiece.SentencePieceTrainer.train(input=f"{folder}/text", model_prefix=f"{folder}/m", vocab_size=320, model_type="bpe", byte_fallback=True,
                                                 character_coverage=1.0, user_defined_symbols=["<turn>"], normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2)
        return sentencepiece.SentencePieceProcessor(model_file=f"{folder}/m.model")


def permuted(w, heads):
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def llama3_factors(c):
    r = c.rope_parameters
    freqs = 1.0 / (r["rope_theta"] ** (np.arange(0, c.head_dim, 2, dtype=np.float32) / c.head_dim))
    low, high, old = r["low_freq_factor"], r["high_freq_factor"], r["original_max_position_embeddings"]
    out = []
    for f in freqs:
        wave = 2 * math.pi / f
        if wave < old / high: out.append(1)
        elif wave > old / low: out.append(r["factor"])
        else:
            s = (old / wave - low) / (high - low)
            out.append(1 / ((1 - s) / r["factor"] + s))
    return np.array(out, dtype=np.float32)


def write(name, arch, model, tokenizer, quant, pre="gpt-2", extra=lambda w, c: None, change=lambda n, w, c: w, small=()):
    """Rounds the model's numbers to those of the file, writes the file, and asks the model what it computes."""
    c = model.config
    layers = c.num_hidden_layers
    names = gguf.get_tensor_name_map(arch, layers)
    w = gguf.GGUFWriter(f"{here}/{name}.gguf", gguf.MODEL_ARCH_NAMES[arch])
    w.add_name(name)
    w.add_block_count(layers)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_feed_forward_length(getattr(c, "intermediate_size", None) or 4 * c.hidden_size)
    w.add_head_count(c.num_attention_heads)
    if getattr(c, "num_key_value_heads", None): w.add_head_count_kv(c.num_key_value_heads)
    if hasattr(c, "rms_norm_eps"): w.add_layer_norm_rms_eps(c.rms_norm_eps)
    else: w.add_layer_norm_eps(getattr(c, "layer_norm_eps", None) or c.layer_norm_epsilon)
    extra(w, c)
    reference = {}
    if isinstance(tokenizer, dict):
        vocab = sorted(tokenizer["model"]["vocab"].items(), key=lambda item: item[1])
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(pre)
        w.add_token_list([token for token, _ in vocab])
        w.add_token_types([3 if i < 2 else 1 for i in range(len(vocab))])
        w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]])
        w.add_bos_token_id(0); w.add_eos_token_id(0); w.add_eot_token_id(1); w.add_pad_token_id(1)
        w.add_chat_template("{% for m in messages %}{{ m['content'] }}<|im_end|>{% endfor %}")
        ids = [5, 90, 270, 3, 279, 17, 44, 8]
    else:
        count = tokenizer.vocab_size()
        w.add_tokenizer_model("llama")
        w.add_tokenizer_pre("default")
        w.add_token_list([tokenizer.id_to_piece(i) for i in range(count)])
        w.add_token_scores([tokenizer.get_score(i) for i in range(count)])
        kind = lambda i: 2 if tokenizer.is_unknown(i) else 3 if tokenizer.is_control(i) else 6 if tokenizer.is_byte(i) else 4 if tokenizer.id_to_piece(i) == "<turn>" else 1
        w.add_token_types([kind(i) for i in range(count)])
        w.add_bos_token_id(1); w.add_eos_token_id(2); w.add_unk_token_id(0)
        w.add_add_space_prefix(True)
        reference["ids"] = {prompt: tokenizer.encode(prompt) for prompt in prompts}
        ids = [1, 90, 270, 3, 279, 17, 44, 8]
    with torch.no_grad():
        state = model.state_dict()
        tied = c.tie_word_embeddings
        for key in list(state):
            if "rotary_emb" in key or key.endswith(".attn.bias") or key.endswith("masked_bias") or (tied and key in ("lm_head.weight", "embed_out.weight")): continue
            tensor = state[key]
            value = change(key, tensor.numpy().astype(np.float32).copy(), c)
            kind = quant if value.ndim > 1 and not key.endswith("wpe.weight") else Q.F32
            if value.ndim > 1 and value.shape[-1] % gguf.GGML_QUANT_SIZES[kind][0]: kind = Q.F16
            packed = quantize(value, kind)
            # what the file holds is what the model shall compute with
            if kind != Q.F32:
                back = dequantize(packed, kind).astype(np.float32)
                tensor.copy_(torch.from_numpy(undo(change, key, back, c)))
            w.add_tensor(names.get_name(key, try_suffixes=(".weight", ".bias")), packed, raw_dtype=None if kind in (Q.F32, Q.F16) else kind)
        for key, value in small: w.add_tensor(key, value)
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
    with torch.no_grad():
        out = model(torch.tensor([ids]))
    reference["tokens"] = ids
    reference["logits"] = [float(f"{x:.7g}") for x in out.logits[0, -1].tolist()]
    return reference


def undo(change, key, value, c):
    """The inverse of a change that only moves numbers: found by moving their places."""
    if change is gemma_change: return value  # it adds 1 to norms, which are not rounded
    shape = value.shape[::-1] if change is gpt2_change and any(part in key for part in conv) else value.shape
    moved = change(key, np.arange(value.size, dtype=np.float64).reshape(shape), c).reshape(-1).astype(np.int64)
    flat = np.empty(value.size, dtype=np.float32)
    flat[moved] = value.reshape(-1)
    return flat.reshape(shape)


conv = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


def llama_change(key, w, c):
    if key.endswith(("q_proj.weight", "q_proj.bias")): return permuted(w, c.num_attention_heads)
    if key.endswith(("k_proj.weight", "k_proj.bias")): return permuted(w, c.num_key_value_heads)
    return w


def gpt2_change(key, w, c):
    return np.ascontiguousarray(w.T) if any(part in key for part in conv) else w


def neox_change(key, w, c):
    if "query_key_value" not in key: return w
    heads, size = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    return np.ascontiguousarray(w.reshape(heads, 3, size, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape))


def gemma_change(key, w, c):
    return w + 1 if key.endswith("norm.weight") else w


def rope(share=1.0):
    def extra(w, c):
        w.add_rope_freq_base(c.rope_parameters.get("rope_theta", 10000.0))
        w.add_rope_dimension_count(int(share * c.hidden_size // c.num_attention_heads))
    return extra


def seeded(make):
    torch.manual_seed(11)
    model = make().float().eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim == 1: value.add_(0.1 * torch.randn_like(value))
            else: value.mul_(4)
    return model


def llama_extra(w, c):
    w.add_vocab_size(c.vocab_size)
    w.add_rope_dimension_count(c.head_dim)
    w.add_rope_freq_base(c.rope_parameters["rope_theta"])


def head_extra(w, c):
    w.add_key_length(c.head_dim); w.add_value_length(c.head_dim)
    w.add_rope_freq_base(c.rope_parameters["rope_theta"])


def gemma2_extra(w, c):
    w.add_key_length(c.head_dim); w.add_value_length(c.head_dim)
    w.add_attn_logit_softcapping(c.attn_logit_softcapping); w.add_final_logit_softcapping(c.final_logit_softcapping); w.add_sliding_window(c.sliding_window)


def gemma3_extra(w, c):
    w.add_key_length(c.head_dim); w.add_value_length(c.head_dim)
    w.add_rope_freq_base(c.rope_parameters["full_attention"]["rope_theta"]); w.add_sliding_window(c.sliding_window)
    w.add_uint32("gemma3.attention.sliding_window_pattern", 2)


bytes_, pieces_ = byte_level(), pieces()
vocab = len(bytes_["model"]["vocab"])
small = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, vocab_size=vocab, bos_token_id=0, eos_token_id=0, pad_token_id=1)
A = gguf.MODEL_ARCH
result = {}

scaled = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
model = seeded(lambda: T.LlamaForCausalLM(T.LlamaConfig(**small, rms_norm_eps=1e-5, rope_parameters=scaled, tie_word_embeddings=True)))
result["llama3"] = write("llama3", A.LLAMA, model, bytes_, Q.Q8_0, "llama-bpe", llama_extra, llama_change, [("rope_freqs.weight", llama3_factors(model.config))])
model = seeded(lambda: T.LlamaForCausalLM(T.LlamaConfig(**{**small, "vocab_size": pieces_.vocab_size(), "num_hidden_layers": 1}, rms_norm_eps=1e-6, attention_bias=True, tie_word_embeddings=False)))
result["llama2"] = write("llama2", A.LLAMA, model, pieces_, Q.Q4_1, "", llama_extra, llama_change)
model = seeded(lambda: T.Qwen2ForCausalLM(T.Qwen2Config(**small, rms_norm_eps=1e-6, tie_word_embeddings=True)))
result["qwen2"] = write("qwen2", A.QWEN2, model, bytes_, Q.Q8_0, "qwen2", rope())
model = seeded(lambda: T.Qwen3ForCausalLM(T.Qwen3Config(**small, head_dim=16, rms_norm_eps=1e-6, tie_word_embeddings=True)))
result["qwen3"] = write("qwen3", A.QWEN3, model, bytes_, Q.Q8_0, "qwen2", head_extra)
gemma = {**small, "vocab_size": pieces_.vocab_size(), "head_dim": 16, "sliding_window": 4, "query_pre_attn_scalar": 16, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
first = {key: value for key, value in gemma.items() if key not in ("sliding_window", "query_pre_attn_scalar")}
model = seeded(lambda: T.GemmaForCausalLM(T.GemmaConfig(**{**first, "num_hidden_layers": 1})))
result["gemma"] = write("gemma", A.GEMMA, model, pieces_, Q.Q5_0, "", lambda w, c: (w.add_key_length(c.head_dim), w.add_value_length(c.head_dim)), gemma_change)
model = seeded(lambda: T.Gemma2ForCausalLM(T.Gemma2Config(**gemma, attn_implementation="eager")))
result["gemma2"] = write("gemma2", A.GEMMA2, model, pieces_, Q.Q4_0, "", gemma2_extra, gemma_change)
model = seeded(lambda: T.Gemma3ForCausalLM(T.Gemma3TextConfig(**gemma, layer_types=["sliding_attention", "full_attention"], attn_implementation="eager")))
result["gemma3"] = write("gemma3", A.GEMMA3, model, pieces_, Q.Q8_0, "", gemma3_extra, gemma_change)
model = seeded(lambda: T.GPT2LMHeadModel(T.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, vocab_size=vocab, bos_token_id=0, eos_token_id=0)))
result["gpt2"] = write("gpt2", A.GPT2, model, bytes_, Q.F16, "gpt-2", lambda w, c: None, gpt2_change)
plain = {k: v for k, v in small.items() if k != "num_key_value_heads"}
model = seeded(lambda: T.GPTNeoXForCausalLM(T.GPTNeoXConfig(**plain, hidden_act="gelu", use_parallel_residual=True, tie_word_embeddings=False, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25})))
result["gptneox"] = write("gptneox", A.GPTNEOX, model, bytes_, Q.BF16, "olmo", lambda w, c: (rope(0.25)(w, c), w.add_parallel_residual(True)), neox_change)
model = seeded(lambda: T.PhiForCausalLM(T.PhiConfig(**plain, hidden_act="gelu_new", rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})))
result["phi2"] = write("phi2", A.PHI2, model, bytes_, Q.Q8_0, "phi-2", rope(0.5))

with open(f"{here}/reference.json", "w") as file: json.dump(result, file)
