"""Learning: data sets, models, training by recipes, and the scikit-learn classifier.

In come labelled examples and a recipe or an estimator's parameters; out goes a trained model whose likelihoods
`measure` can evaluate. The modules need different extras, so import them by name: `learn.data`, `learn.models`,
`learn.training`, `learn.classifier`, `learn.torch_metric`.
"""
