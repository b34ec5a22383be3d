"""Learning: data sets, models, training by recipes, and the scikit-learn classifier.

In come labelled examples and a recipe or an estimator's parameters; out goes a trained model whose likelihoods
`measure` can evaluate. Its parts need different extras, so they are imported by name: `learn.data`,
`learn.models`, `learn.training`, `learn.classifier`, `learn.torch_metric`.
"""
