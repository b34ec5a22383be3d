"""Learning: data sets, models, training by recipes, and the scikit-learn classifier."""
