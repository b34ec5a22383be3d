"""
A Hugging Face classifier
=========================

A text classifier of ``transformers`` has one output per label. Give it as many outputs as a method of hedgerow has
scores, and train it with that method's loss. The model here is tiny and random, so that nothing is downloaded;
``AutoModelForSequenceClassification.from_pretrained`` takes its place in practice.

This needs ``pip install 'hedgerow[torch,plot]' transformers``.
"""

# %%
# A tree, texts and a tokenizer
# -----------------------------
# Each intent has words of its own, and some that it shares with others. A message has none to three of them.

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, set_seed

import hedgerow as hr
from hedgerow import methods

WORDS = {
    "card/lost": "card lost gone stolen wallet",
    "card/blocked": "card blocked frozen declined pin",
    "login/password": "login password forgot reset email",
    "login/code": "login code sms phone email",
}
ANYTHING = ["please", "help", "my", "the", "account", "today", "urgent", "cannot", "why", "thanks"]
PADDING, UNKNOWN = "[PAD]", "[UNK]"

h = hr.Hierarchy.from_paths(list(WORDS), root="any message")
print(h.pretty())

set_seed(0)
torch.set_num_threads(1)  # with a model this small, threads would only wait for one another


def some(words: list[str], count: int) -> list[str]:
    return [words[i] for i in torch.randint(len(words), (count,))]


def draw(count: int) -> tuple[list[str], torch.Tensor]:
    """Make up some messages, and label them by nodes of the tree."""
    texts = []
    intents = some(list(WORDS), count)
    for intent in intents:
        message = some(WORDS[intent].split(), int(torch.randint(4, ()))) + some(ANYTHING, 3)
        texts.append(" ".join(message[i] for i in torch.randperm(len(message))))
    return texts, torch.tensor(h.indices([intent.split("/")[1] for intent in intents]))


texts, labels = draw(1024)
vocabulary = [PADDING, UNKNOWN, *sorted(set(" ".join(texts).split()))]
words = Tokenizer(WordLevel({word: number for number, word in enumerate(vocabulary)}, UNKNOWN))
words.pre_tokenizer = Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token=PADDING, unk_token=UNKNOWN)
print()
for text, label in zip(texts[:4], labels, strict=False):
    print(f"{h.names[label]}: {text}")

# %%
# The model
# ---------
# ``method.outputs`` says which nodes have a score, and the configuration keeps their names with the weights.

method = methods.create("ps-softmax", h)
model = BertForSequenceClassification(
    BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        id2label=dict(enumerate(h.names[method.outputs].tolist())),
    )
)
print(model.config.id2label)

# %%
# The loop
# --------

optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(8):
    total = 0.0
    batches = torch.randperm(len(texts)).reshape(-1, 32)
    for batch in batches:
        tokens = tokenizer([texts[i] for i in batch], padding=True, return_tensors="pt")
        loss = method(model(**tokens).logits, labels[batch]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += loss.item() / len(batches)
    print(f"epoch {epoch + 1}  loss {total:.3f}")

# %%
# Evaluate
# --------
# On the method's own scale, likelihoods do not round to 1.

model.eval()
new_texts, new_labels = draw(500)
with torch.no_grad():
    theta = model(**tokenizer(new_texts, padding=True, return_tensors="pt")).logits
q = method.likelihood(theta, method.scale)
evaluation = hr.evaluate(h, q, new_labels.numpy(), name="tiny BERT", scale=method.scale)
print(evaluation)
evaluation.plot("correct-recall")

# %%
# Answers
# -------
# Unclear messages move up the tree.

unclear = ["wallet stolen today", "cannot login today", "email thanks", "help"]
with torch.no_grad():
    theta = model(**tokenizer(unclear, padding=True, return_tensors="pt")).logits
answers = hr.infer.threshold(h, method.likelihood(theta), 0.8)
for text, answer in zip(unclear, answers.tolist(), strict=True):
    print(f"{text!r}: {h.names[answer]}")

# %%
# What to do next
# ---------------
# * With ``Trainer``, labels are node indices, too, and the loss is one argument: ``compute_loss_func=lambda
#   outputs, labels, **_: method(outputs.logits, labels).mean()``.
# * ``hr.select`` chooses the threshold so that a promise holds: :doc:`Promises </promises>`.
# * :doc:`Choose a method </how-to/choose-a-method>` says what is known of the nine losses.
