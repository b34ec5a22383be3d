"""Readers and writers of trees, one per format; `hedgerow.tree.tree_reading` knows them by name.

A reader returns a `NodeTable`, which `hedgerow.Hierarchy` puts in depth-first order, or raises an error that
names the offender, its location and the remedy. No reader guesses. Names are taken as they are, except that some
formats allow several classes to share a name: their readers tell them apart. Depth is limited only by memory,
except in nested JSON files.
"""
