"""
A Hugging Face classifier
=========================

A text classifier of ``transformers`` has one output per label. Give it as many as a method of hedgerow has scores,
and train it with that method's loss. The model here is tiny and random, so that nothing is downloaded; replace it
by ``AutoModelForSequenceClassification.from_pretrained(NAME, num_labels=len(method.outputs))``.

This needs ``pip install 'hedgerow[torch]' transformers``.
"""

# %%
# A tree and some token ids
# -------------------------
# Each intent has its own words, and a topic shares some among its intents.

import torch
from transformers import BertConfig, BertForSequenceClassification

import hedgerow as hr
from hedgerow import methods

h = hr.Hierarchy.from_paths(["card/lost", "card/blocked", "login/password", "login/code"], root="any")
method = methods.create("softmax-margin", h)

torch.manual_seed(0)
leaves = torch.tensor(h.leaves)


def draw(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    labels = leaves[torch.randint(len(leaves), (count,))]
    topic = torch.tensor(h.parent)[labels]
    own, shared = 10 + 4 * labels[:, None], 40 + 4 * topic[:, None]
    words = torch.cat([own + torch.randint(4, (count, 2)), shared + torch.randint(4, (count, 2))], dim=1)
    noise = torch.randint(70, 90, (count, 4))
    return torch.cat([words, noise], dim=1)[:, torch.randperm(8)], labels


# %%
# The model
# ---------

config = BertConfig(
    vocab_size=100,
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=64,
    num_labels=len(method.outputs),
)
model = BertForSequenceClassification(config)
optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)

for step in range(61):
    tokens, labels = draw(64)
    loss = method(model(input_ids=tokens).logits, labels).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if step % 20 == 0:
        print(f"step {step:2d}  loss {loss.item():.3f}")

# %%
# Evaluate
# --------

model.eval()
tokens, labels = draw(500)
with torch.no_grad():
    q = method.likelihood(model(input_ids=tokens).logits, method.scale)
evaluation = hr.evaluate(h, q, labels.numpy(), name="tiny BERT", scale=method.scale)
print(evaluation)
