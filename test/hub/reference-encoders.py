"""Tiny random models of encoder and encoder-decoder families, and what Python transformers makes of them.

python reference-encoders.py     # writes models/<name>/ (as save_pretrained does) and models/<name>/reference.json, gradients.safetensors

Every parameter is drawn wide, so that a bias, an epsilon or a scale that is forgotten is seen. The tests need no Python.
"""

import json
import math
import pathlib
import shutil

import torch
import transformers as tf
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

here = pathlib.Path(__file__).parent / "models"
torch.set_num_threads(1)

words = "the a cat dog sat ran on mat road and saw big red one two we like this film not good bad very it was".split()
letters = list("abcdefghijklmnopqrstuvwxyz.,!")


def wordpiece():
    """[CLS] ... [SEP], lower case, as BERT's files have it."""
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *[c for c in letters if c not in words], "##s", "##ing", *["##" + c for c in letters[:26] if c != "s"]]
    tok = Tokenizer(models.WordPiece({w: i for i, w in enumerate(entries)}, unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=True)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece(prefix="##")
    tok.add_special_tokens(entries[:5])
    tok.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)])
    return tok, dict(cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]")


def bytes_bpe(start=0, pad=1, end=2):
    """<s> ... </s> with a byte-level BPE, as RoBERTa's and BART's files have it."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    printable = [c for c in alphabet if c.isascii()] + ["Ġ"]
    entries = ["<s>", "<pad>", "</s>", "<unk>", *printable]
    merges = []
    for pair in ["Ġ t", "h e", "Ġt he", "Ġ a", "a t", "Ġ s", "Ġs at", "Ġ c", "Ġc at", "o n", "Ġ on"]:
        left, right = pair.split()
        merges.append((left, right))
        entries.append(left + right)
    entries.append("<mask>")
    tok = Tokenizer(models.BPE({w: i for i, w in enumerate(entries)}, merges))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tok.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return tok, dict(bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>")


def unigram(specials=("<pad>", "</s>", "<unk>")):
    """... </s> with a unigram model over ▁words, as T5's and Marian's files have it."""
    entries = [(s, 0.0) for s in specials]
    entries += [("▁" + w, -2.0 - 0.1 * i) for i, w in enumerate(words)]
    entries += [("▁", -5.0)] + [(c, -6.0 - 0.05 * i) for i, c in enumerate(letters) if c not in words and c != "a"] + [("a", -6.1), ("s", -5.5)][:1]
    seen, unique = set(), []
    for entry in entries:
        if entry[0] not in seen:
            seen.add(entry[0])
            unique.append(entry)
    tok = Tokenizer(models.Unigram(unique, unk_id=specials.index("<unk>"), byte_fallback=False))
    tok.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    tok.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    tok.add_special_tokens(list(specials))
    end = specials.index("</s>")
    tok.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", end)])
    return tok, dict(eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def widened(model, seed):
    g = torch.Generator().manual_seed(seed)
    frozen = {id(p) for p in model.parameters() if not p.requires_grad}
    for name, p in sorted({id(p): (n, p) for n, p in model.named_parameters()}.values()):
        if id(p) in frozen:
            continue
        noise = torch.randn(p.shape, generator=g)
        is_norm = "norm" in name.lower() and name.endswith("weight")
        p.data = 1 + 0.2 * noise if is_norm else (0.25 if p.dim() > 1 else 0.2) * noise
    for name, buffer in model.named_buffers():
        if name == "final_logits_bias":
            buffer.copy_(0.3 * torch.randn(buffer.shape, generator=g))
    return model.eval()


texts = ["The cat sat on the mat.", "Two dogs ran"]
pairs = [("the cat sat on the mat.", "a dog ran and saw it"), ("two dogs", "it was good")]


def rounded(tensor):
    return [float(f"{x:.7g}") for x in tensor.detach().flatten().tolist()]


def save(name, model, tok, special, reference, gradients=True):
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    tf.PreTrainedTokenizerFast(tokenizer_object=tok, **special).save_pretrained(folder)
    if gradients:
        # a tied parameter has one gradient, under the first of its names
        found = {n: p.grad.contiguous() for n, p in model.named_parameters() if p.grad is not None}
        save_file(found, folder / "gradients.safetensors")
    (folder / "reference.json").write_text(json.dumps(reference))


def encoded(tok, given, pad):
    rows = [tok.encode(text).ids for text in given]
    longest = max(map(len, rows))
    return rows, torch.tensor([r + [pad] * (longest - len(r)) for r in rows]), torch.tensor([[1] * len(r) + [0] * (longest - len(r)) for r in rows])


def encoder(name, cls, config, tokenizer, task, seed, pad=0, attentions=True):
    tok, special = tokenizer
    config.vocab_size = tok.get_vocab_size() + 3  # tables are often larger than the vocabulary
    config._attn_implementation = "eager"
    model = widened(cls(config), seed)
    rows, ids, mask = encoded(tok, texts, pad)
    lengths = [len(r) for r in rows]
    out = model(input_ids=ids, attention_mask=mask, output_attentions=True)
    reference = dict(task=task, texts=texts, ids=rows, lengths=lengths)
    if task == "embed":
        states = out.last_hidden_state
        reference["states"] = [rounded(states[i, : lengths[i]]) for i in range(2)]
        weight = mask.unsqueeze(-1).float()
        mean = (states * weight).sum(1) / weight.sum(1)
        reference["mean"] = [rounded(v) for v in mean]
    else:
        scores = out.logits
        if task == "classify":
            targets = torch.tensor([1, 0])
            reference["scores"] = [rounded(s) for s in scores]
        else:
            g = torch.Generator().manual_seed(seed)
            targets = torch.randint(0, scores.shape[-1], ids.shape, generator=g)
            targets[mask == 0] = -100
            if task == "mlm":
                targets[:, ::2] = -100
            reference["scores"] = [rounded(scores[i, : lengths[i]]) for i in range(2)]
        loss = torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1), ignore_index=-100)
        loss.backward()
        reference["targets"] = [t if isinstance(t, int) else [-1 if x == -100 else x for x in t] for t in targets.tolist()]
        reference["loss"] = loss.item()
    # [layer][row] -> head, query, key, flat, real positions only
    reference["attentions"] = [[rounded(a[i, :, : lengths[i], : lengths[i]]) for i in range(2)] for a in out.attentions]
    save(name, model, tok, special, reference, gradients=task != "embed")


def seq2seq(name, cls, config, tokenizer, seed, untie=False, forced_start=None):
    tok, special = tokenizer
    config.vocab_size = tok.get_vocab_size() + 3
    if hasattr(config, "decoder_vocab_size"):
        config.decoder_vocab_size = config.vocab_size
    config._attn_implementation = "eager"
    model = cls(config)
    if untie:
        model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    model = widened(model, seed)
    model.generation_config.forced_bos_token_id = forced_start
    pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    sources, source, mask = encoded(tok, [s for s, _ in pairs], pad)
    wanted = [tok.encode(t, add_special_tokens=False).ids + [end] for _, t in pairs]
    longest = max(map(len, wanted))
    labels = torch.tensor([w + [-100] * (longest - len(w)) for w in wanted])
    inputs = torch.tensor([[start] + w[:-1] + [pad] * (longest - len(w)) for w in wanted])
    out = model(input_ids=source, attention_mask=mask, decoder_input_ids=inputs, output_attentions=True, use_cache=False)
    scores = out.logits
    loss = torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels.reshape(-1), ignore_index=-100)
    loss.backward()
    n, m = [len(s) for s in sources], [len(w) for w in wanted]
    beyond = list(range(tok.get_vocab_size(), config.vocab_size))  # rows of the table that no token has
    written = [
        model.generate(torch.tensor([s]), attention_mask=torch.ones(1, len(s), dtype=torch.long), max_new_tokens=10, num_beams=1, do_sample=False, use_cache=False, suppress_tokens=beyond)[0].tolist()
        for s in sources
    ]
    reference = dict(
        task="translate",
        pairs=pairs,
        sources=sources,
        targets=wanted,
        start=start,
        end=end,
        scores=[rounded(scores[i, : m[i]]) for i in range(2)],
        loss=loss.item(),
        encoder=[[rounded(a[i, :, : n[i], : n[i]]) for i in range(2)] for a in out.encoder_attentions],
        decoder=[[rounded(a[i, :, : m[i], : m[i]]) for i in range(2)] for a in out.decoder_attentions],
        cross=[[rounded(a[i, :, : m[i], : n[i]]) for i in range(2)] for a in out.cross_attentions],
        greedy=written,
    )
    save(name, model, tok, special, reference)


small = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=40)
labels = dict(id2label={0: "bad", 1: "fine", 2: "good"}, label2id={"bad": 0, "fine": 1, "good": 2})
tags = dict(id2label={0: "O", 1: "B-X", 2: "I-X"}, label2id={"O": 0, "B-X": 1, "I-X": 2})

encoder("bert-classify", tf.BertForSequenceClassification, tf.BertConfig(**small, **labels), wordpiece(), "classify", 1)
encoder("bert-tag", tf.BertForTokenClassification, tf.BertConfig(**small, **tags), wordpiece(), "tag", 2)
encoder("bert-mlm", tf.BertForMaskedLM, tf.BertConfig(**small), wordpiece(), "mlm", 3)
encoder("bert-embed", tf.BertModel, tf.BertConfig(**small, hidden_act="gelu_new"), wordpiece(), "embed", 4)
roberta = dict(small, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0, eos_token_id=2)
encoder("roberta-classify", tf.RobertaForSequenceClassification, tf.RobertaConfig(**roberta, **labels), bytes_bpe(), "classify", 5, pad=1)
encoder("roberta-mlm", tf.RobertaForMaskedLM, tf.RobertaConfig(**roberta), bytes_bpe(), "mlm", 6, pad=1)
distil = dict(dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=40)
encoder("distilbert-classify", tf.DistilBertForSequenceClassification, tf.DistilBertConfig(**distil, **labels), wordpiece(), "classify", 7)
encoder("distilbert-mlm", tf.DistilBertForMaskedLM, tf.DistilBertConfig(**distil), wordpiece(), "mlm", 9)

t5 = dict(d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=2, relative_attention_num_buckets=8, relative_attention_max_distance=12, decoder_start_token_id=0)
seq2seq("t5", tf.T5ForConditionalGeneration, tf.T5Config(**t5), unigram(), 11)
seq2seq("flan-t5", tf.T5ForConditionalGeneration, tf.T5Config(**dict(t5, num_decoder_layers=3), feed_forward_proj="gated-gelu", tie_word_embeddings=False), unigram(), 12, untie=True)
sizes = dict(d_model=16, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=24, decoder_ffn_dim=24, encoder_attention_heads=2, decoder_attention_heads=2)
marian_tokens = unigram(("</s>", "<unk>", "<pad>"))
seq2seq("marian", tf.MarianMTModel, tf.MarianConfig(**sizes, max_position_embeddings=32, activation_function="swish", scale_embedding=True, pad_token_id=2, decoder_start_token_id=2, eos_token_id=0, forced_eos_token_id=0), marian_tokens, 13)
seq2seq("bart", tf.BartForConditionalGeneration, tf.BartConfig(**dict(sizes, decoder_layers=3), max_position_embeddings=48, scale_embedding=True), bytes_bpe(), 14, forced_start=0)
