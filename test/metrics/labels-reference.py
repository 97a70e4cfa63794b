"""Writes labels-reference.json: what scikit-learn 1.9 and seqeval 1.2.2 say of labels, sets of labels and spans. Needs `pip install scikit-learn
seqeval`; the tests do not. Biome lays it out."""

import json
import pathlib
import random
import warnings

from seqeval.metrics import classification_report as span_report
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import accuracy_score, multilabel_confusion_matrix, precision_recall_fscore_support


def averages(truth, predicted, **kinds):
    found = {}
    for name, options in kinds.items():
        precision, recall, f1, _ = precision_recall_fscore_support(truth, predicted, average=name, zero_division=0, **options)
        found[name] = {"precision": float(precision), "recall": float(recall), "f1": float(f1)}
    return found


def classes(truth, predicted, labels):
    parts = precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=0)
    return [dict(zip(("precision", "recall", "f1", "support"), (float(x) for x in row))) for row in zip(*parts)]


def of_labels(rng):
    labels, size = rng.randrange(2, 7), rng.randrange(1, 40)
    truth = [rng.randrange(labels) for _ in range(size)]
    predicted = [label if rng.random() < 0.5 else rng.randrange(labels) for label in truth]
    every = list(range(labels))
    return {"truth": truth, "predicted": predicted, "labels": labels, "classes": classes(truth, predicted, every)} | averages(
        truth, predicted, macro={}, weighted={}
    )


def of_sets(rng):
    labels, size = rng.randrange(2, 6), rng.randrange(1, 30)
    row = lambda: [int(rng.random() < 0.4) for _ in range(labels)]
    truth = [row() for _ in range(size)]
    predicted = [[bit if rng.random() < 0.7 else 1 - bit for bit in bits] for bits in truth]
    every = list(range(labels))
    occurring = [i for i in every if any(bits[i] for bits in truth) or any(bits[i] for bits in predicted)] or every
    return {
        "truth": truth,
        "predicted": predicted,
        "labels": labels,
        "accuracy": accuracy_score(truth, predicted),
        "classes": classes(truth, predicted, every),
        "confusion": multilabel_confusion_matrix(truth, predicted).tolist(),
    } | averages(truth, predicted, micro={}, macro={"labels": occurring}, weighted={})


def of_spans(rng):
    marks = "BIO" if rng.random() < 0.8 else "BIOES"
    tag = lambda: rng.choice(["O", "O"] + [f"{mark}-{kind}" for mark in marks if mark != "O" for kind in ("PER", "LOC", "A-B")])
    truth = [[tag() for _ in range(rng.randrange(1, 12))] for _ in range(rng.randrange(1, 6))]
    predicted = [[one if rng.random() < 0.7 else tag() for one in row] for row in truth]
    truth[0][0] = "B-PER"
    report = span_report(truth, predicted, output_dict=True, zero_division=0)
    numbers = lambda row: {"precision": float(row["precision"]), "recall": float(row["recall"]), "f1": float(row["f1-score"]), "support": int(row["support"])}
    types = sorted(name for name in report if not name.endswith(" avg"))
    return {
        "truth": truth,
        "predicted": predicted,
        "spans": [[list(span) for span in get_entities(row)] for row in truth],
        "micro": numbers(report["micro avg"]),
        "macro": numbers(report["macro avg"]),
        "weighted": numbers(report["weighted avg"]),
        "types": [{"type": name} | numbers(report[name]) for name in types],
    }


def main():
    warnings.filterwarnings("ignore")
    rng = random.Random(12)
    result = {
        "labels": [of_labels(rng) for _ in range(20)],
        "sets": [of_sets(rng) for _ in range(20)],
        "spans": [of_spans(rng) for _ in range(30)],
    }
    path = pathlib.Path(__file__).with_name("labels-reference.json")
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


main()
