"""Training: recipes, batches, the Lightning module and the run folder."""
