"""Writes reference.json: what sacreBLEU 2.6.0 and scikit-learn say. Needs `pip install sacrebleu scikit-learn`; the tests do not. Biome lays it out."""

import json
import pathlib
import random
import warnings

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

ENGLISH = [
    "The cat sat on the mat, and then it slept.",
    "A quick brown fox jumps over the lazy dog near the river bank.",
    "She said: \"We'll never get there by 5 p.m.!\"",
    "In 1998, prices rose by 1,000.5 percent (or so they say).",
    "State-of-the-art models, e.g. GPT-2, were trained in 2019-2020.",
]
GERMAN = [
    "Die Katze saß auf der Matte, und dann schlief sie ein.",
    "Ein schneller brauner Fuchs springt über den faulen Hund am Flussufer.",
    "Sie sagte: „Wir kommen nie bis 17 Uhr dort an!“",
    "1998 stiegen die Preise um 1.000,5 Prozent (heißt es).",
]

CASES = {
    "English, a few words changed": (
        ["The cat sat on a mat and then slept.", "A fast brown fox jumped over the lazy dog near the river."],
        ENGLISH[:2],
    ),
    "German, a few words changed": (
        ["Die Katze sass auf der Matte und schlief dann ein.", "Ein schneller Fuchs springt über den Hund am Fluss."],
        GERMAN[:2],
    ),
    "identical": (ENGLISH + GERMAN, ENGLISH + GERMAN),
    "identical but for the case": ([line.upper() for line in ENGLISH], ENGLISH),
    "an empty hypothesis among others": (["", ENGLISH[1]], ENGLISH[:2]),
    "only empty hypotheses": (["", ""], ENGLISH[:2]),
    "an empty reference": (["something was said", ENGLISH[1]], ["", ENGLISH[1]]),
    "both empty": ([""], [""]),
    "nothing in common": (["aaa bbb ccc ddd eee"], ["vvv www xxx yyy zzz"]),
    "no four words in a row": (["the cat the mat the dog slept sat"], ["a cat sat on the mat while the dog slept"]),
    "only single words match": (["dog lazy the over fox"], ["the quick fox jumped over a lazy dog"]),
    "one word": (["yes"], ["yes"]),
    "one wrong word": (["no"], ["yes"]),
    "three words": (["a b c"], ["a b c"]),
    "four words": (["a b c d"], ["a b c d"]),
    "one letter": (["a"], ["a"]),
    "five letters": (["abcde"], ["abcdf"]),
    "far too short": (["The cat sat on the"], [ENGLISH[0] + " " + ENGLISH[1]]),
    "far too long": ([ENGLISH[0] + " " + ENGLISH[1]], [ENGLISH[0]]),
    "repeated words are clipped": (["the the the the the the the"], ["the cat is on the mat the end"]),
    "punctuation": (["Well... (really?!) [yes] {no} a/b c:d; e=f"], ["Well ... ( really ? ! ) [ yes ] { no } a / b c : d ; e = f"]),
    "entities": (["&quot;A&quot; &amp; B &lt;b&gt; &amp;quot; &apos;"], ['"A" & B <b> " \' &']),
    "numbers": (["It cost 1,000.5 or 2.000,7 or .5 or 7, not 3.x"], ["It cost 1,000.5 or 2.000,7 or 0.5 or 7 , not 3.y"]),
    "hyphens": (["state-of-the-art in 1990-1995, 5-fold -3 a-5"], ["state-of-the-art in 1990 - 1995, 5 -fold - 3 a-5"]),
    "skipped": (["one <skipped>two three four five"], ["one two three four five"]),
    "Chinese": (["我喜欢喝茶。 你 呢?", "今天天气很好"], ["我喜欢喝咖啡。 你 呢?", "今天的天气很好"]),
    "emoji and flags": (["I 👍🏽 this 👨‍👩‍👧 a lot 🇩🇪 ."], ["I 👍 this 👨‍👩‍👧 a lot 🇫🇷 ."]),
    "combining marks": (["café naïve Å été là"], ["cafe\u0301 nai\u0308ve A\u030a été là"]),
    "Arabic digits beside points": (["سعر ٣٬٥٠٠.٥ ريال , اليوم فقط نعم"], ["سعر ٣٬٥٠٠.٥ ريال, اليوم فقط لا"]),
    "emoji beside points": (["good👍.bad,👍 one two three four"], ["good👍 . bad , 👍 one two three four"]),
    "newlines and tabs": (["the cat\nsat on\tthe mat\r\nto- \nday", "hyphen-\nated words are joined up here"], ["the cat sat on the mat to-day", "hyphenated words are joined up here"]),
    "odd white space": (
        ["a\u00a0b\u2003c\u3000d\u2028e\x85f\x1cg\x1fh\ufeffi\u200bj", "  lead and trail of it \x1c\x85\u3000"],
        ["a b c d e f g h i j", "lead and trail of it"],
    ),
    "a newline at the end after a hyphen": (["one two three four five-\n"], ["one two three four five-"]),
    "apostrophes": (["don't can't it's o'clock rock 'n' roll"], ["don 't can not it 's o'clock rock 'n' roll"]),
    "control characters": (["a\x00b c\x01d e f g"], ["a\x00b c\x01d e f h"]),
    "a name that objects have": (["constructor __proto__ toString valueOf"], ["constructor __proto__ toString valueOf"]),
}

PIECES = ["the", "cat", "Katze", "sat", "a", "I", "1,000.5", "3.", ".5", "e.g.", "x-y", "5-6", "-", "&amp;", "&lt;", "ß", "é", "e\u0301", "茶", "👍", "👨‍👩‍👧",
          "(", ")", "!", "'s", "\"", "\n", "\t", "-\n", "\u00a0", "\x85", "\x1d", "\ufeff", "\u200b", "/", "\\", "$1", "~", "^", "_", "`", "<skipped>", "٣"]  # fmt: skip


def random_case(rng):
    sentence = lambda: [rng.choice(PIECES) for _ in range(rng.randrange(0, 25))]
    hypotheses, references = [], []
    for _ in range(rng.randrange(1, 5)):
        words = sentence()
        changed = [rng.choice(PIECES) if rng.random() < 0.15 else word for word in words if rng.random() < 0.95]
        space = lambda: rng.choice([" ", " ", " ", "", "  "])
        references.append("".join(word + space() for word in words))
        hypotheses.append("".join(word + space() for word in changed))
    return hypotheses, references


def main():
    warnings.filterwarnings("ignore")
    rng = random.Random(1)
    cases = dict(CASES) | {f"random {i}": random_case(rng) for i in range(60)}
    translations = [
        {
            "name": name,
            "hypotheses": hypotheses,
            "references": references,
            "tokens": [Tokenizer13a()(line.rstrip()).split() for line in hypotheses],
            "bleu": sacrebleu.corpus_bleu(hypotheses, [references]).score,
            "chrf": sacrebleu.corpus_chrf(hypotheses, [references]).score,
        }
        for name, (hypotheses, references) in cases.items()
    ]
    classifications = []
    for i in range(30):
        labels, size = rng.randrange(1, 7), rng.randrange(1, 40)
        truth = [rng.randrange(labels) for _ in range(size)]
        predicted = [label if rng.random() < 0.5 else rng.randrange(labels) for label in truth]
        classifications.append(
            {
                "truth": truth,
                "predicted": predicted,
                "labels": labels,
                "accuracy": accuracy_score(truth, predicted),
                "f1": f1_score(truth, predicted, average="macro", zero_division=0),
                "confusion": confusion_matrix(truth, predicted, labels=list(range(labels))).tolist(),
            }
        )
    result = {"sacrebleu": sacrebleu.__version__, "translations": translations, "classifications": classifications}
    path = pathlib.Path(__file__).with_name("reference.json")
    path.write_text(json.dumps(result, ensure_ascii=True, indent=2) + "\n", encoding="utf-8")


main()
